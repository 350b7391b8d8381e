package volumelimits_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/runtime/emptydirs"
	"mullion.dev/mullion/internal/runtime/volumelimits"
)

// podWith returns a pod with the emptyDir v.
func podWith(sizeLimit, ephemeral string) *corev1.Pod {
	empty := &corev1.EmptyDirVolumeSource{}
	if sizeLimit != "" {
		q := resource.MustParse(sizeLimit)
		empty.SizeLimit = &q
	}

	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      "web",
			Namespace: "default",
			UID:       "uid-web",
		},
		Spec: corev1.PodSpec{
			NodeName:   "win-1",
			Containers: []corev1.Container{{Name: "app"}, {Name: "other"}},
			Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: empty}}, {Name: "none"}},
		},
	}

	if ephemeral != "" {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
			corev1.ResourceEphemeralStorage: resource.MustParse(ephemeral),
		}
	}

	return p
}

func TestWhyOver(t *testing.T) {
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		usage emptydirs.Usage
		says  string
	}{
		"no limit":      {podWith("", ""), emptydirs.Usage{Bytes: 1 << 40}, ""},
		"below":         {podWith("32Mi", "64Mi"), emptydirs.Usage{Bytes: 32 << 20}, ""},
		"the volume's":  {podWith("32Mi", "64Mi"), emptydirs.Usage{Bytes: 1 << 30}, `Usage of EmptyDir volume "v" exceeds the limit "32Mi". It takes 1Gi`},
		"the pod's":     {podWith("", "64Mi"), emptydirs.Usage{Bytes: 65 << 20}, "exceeds the total limit of containers 64Mi. Its emptyDirs take 65Mi"},
		"no size at 0":  {podWith("0", ""), emptydirs.Usage{Bytes: 1 << 30}, ""},
		"the bound":     {podWith("", ""), emptydirs.Usage{Over: "more than 3 entries"}, `EmptyDir volume "v" has more than 3 entries`},
		"small files":   {podWith("32Mi", "64Mi"), emptydirs.Usage{Bytes: 1, Blocks: 96 << 20}, ""},
		"many of them":  {podWith("32Mi", "64Mi"), emptydirs.Usage{Bytes: 1, Blocks: 96<<20 + 1}, `the limit "32Mi". It takes 100663297`},
		"in all":        {podWith("", "64Mi"), emptydirs.Usage{Bytes: 1, Blocks: 129 << 20}, "of containers 64Mi. Its emptyDirs take 129Mi"},
		"not measured":  {podWith("1Mi", "1Mi"), emptydirs.Usage{}, ""},
		"both, in part": {podWith("32Mi", ""), emptydirs.Usage{Over: "more than 3 entries", Bytes: 1 << 30}, "more than 3 entries"},
	} {
		got, beyond := volumelimits.WhyOver(tt.pod, map[string]emptydirs.Usage{"v": tt.usage})
		if !strings.Contains(got, tt.says) || (tt.says == "") != (got == "") || beyond != (tt.usage.Over != "") {
			t.Errorf("%s: %q, want %q", name, got, tt.says)
		}
	}
}

// api answers with one pod, and notes what is changed.
type api struct {
	pod    *corev1.Pod
	refuse string // of the path that it ends with
	mu     sync.Mutex
	asked  []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, r.ContentLength+1)
	n, _ := r.Body.Read(body)
	a.mu.Lock()
	a.asked = append(a.asked, r.Method+" "+r.URL.Path+" "+string(body[:n]))
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(corev1.PodList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{*a.pod},
		})
	case r.Method == http.MethodPatch && a.refuse != "" && strings.HasSuffix(r.URL.Path, a.refuse):
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: 403,
		})

	default:
		_ = json.NewEncoder(w).Encode(a.pod)
	}
}

func TestLook(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*corev1.Pod)
		refuse string
		want   []string
	}{
		"over": {nil, "", []string{
			"POST /api/v1/namespaces/default/events", "PATCH /api/v1/namespaces/default/pods/web/status",
			`PATCH /api/v1/namespaces/default/pods/web {"metadata":{"uid":"uid-web"},"spec":{"activeDeadlineSeconds":1}}`,
		}},
		"the rights of a node": {nil, "/web", []string{
			"POST /api/v1/namespaces/default/events", "PATCH /api/v1/namespaces/default/pods/web/status",
			"PATCH /api/v1/namespaces/default/pods/web ", "DELETE /api/v1/namespaces/default/pods/web",
		}},
		"it has ended": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, "", nil},
		"it is going":  {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, "", nil},
		"it was told": {func(p *corev1.Pod) {
			one := int64(1)
			p.Spec.ActiveDeadlineSeconds = &one
		}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			drive := t.TempDir()
			volume := filepath.Join(drive, "var/lib/kubelet/pods", emptydirs.Folder("uid-web", "v"))
			if err := os.MkdirAll(filepath.Join(volume, "a*b", `..\v`, "c"), 0o755); err != nil {
				t.Fatal(err)
			}
			a := &api{pod: podWith("", ""), refuse: tt.refuse}
			if tt.change != nil {
				tt.change(a.pod)
			}

			server := httptest.NewServer(a)
			defer server.Close()

			bound := emptydirs.Bound{
				Names: 2,
				Depth: 9,
				Path:  99,
			}

			l := volumelimits.Limits{Bound: bound, Log: slog.New(slog.DiscardHandler)}
			err := l.Look(t.Context(), volumelimits.Node{Name: "win-1", Drive: drive, Client: func() (kubeclient.Interface, error) {
				return kubeclient.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
			}})
			if err != nil {
				t.Error(err)
			}

			changes := a.asked[1:]
			if len(changes) != len(tt.want) {
				t.Fatalf("it asked %q, want %q", changes, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(changes[i], want) {
					t.Errorf("question %d: %q, want %q", i, changes[i], want)
				}
			}

			if len(changes) > 1 && (!strings.Contains(changes[0], "more than 2 entries") || !strings.Contains(changes[1], "more than 2 entries")) {
				t.Errorf("neither event nor condition say why: %q", changes[:2])
			}
		})
	}
}

// TestPatience: the kubelet may evict a pod itself that is over a limit which it knows.
func TestPatience(t *testing.T) {
	drive := t.TempDir()
	volume := filepath.Join(drive, "var/lib/kubelet/pods", emptydirs.Folder("uid-web", "v"))
	err := errors.Join(os.MkdirAll(volume, 0o755), os.WriteFile(filepath.Join(volume, "f"), make([]byte, 9000), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	a := &api{pod: podWith("8Ki", "")}
	server := httptest.NewServer(a)
	defer server.Close()

	node := volumelimits.Node{Name: "win-1", Drive: drive, Client: func() (kubeclient.Interface, error) {
		return kubeclient.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	}}
	l := volumelimits.Limits{
		Bound:    emptydirs.DefaultBound(),
		Patience: time.Hour,
		Log:      slog.New(slog.DiscardHandler),
	}

	for range 2 {
		if err := l.Look(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}

	if len(a.asked) != 2 {
		t.Errorf("it did not wait: %q", a.asked)
	}
	l.Patience = time.Nanosecond
	if err := l.Look(t.Context(), node); err != nil || len(a.asked) != 2+4 {
		t.Errorf("it still waits: %v, %q", err, a.asked)
	}
}
