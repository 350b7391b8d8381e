package gather_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/diagnose"
	"mullion.dev/mullion/internal/diagnose/gather"
)

// api answers as an API server: by path, a body, or a status in front of one ("403 …").
type api struct {
	answers map[string]string
	mu      sync.Mutex
	asked   []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r.Method+" "+r.URL.Path)
	a.mu.Unlock()
	key := r.URL.Path
	if next := r.URL.Query().Get("continue"); next != "" {
		key += "?" + next
	}

	body, ok := a.answers[key]
	switch {
	case !ok:
		status(w, http.StatusNotFound, "NotFound")
	case strings.HasPrefix(body, "403"):
		status(w, http.StatusForbidden, "Forbidden")
	case strings.HasPrefix(body, "500"):
		status(w, http.StatusInternalServerError, "InternalError")
	case strings.HasPrefix(body, "410"):
		status(w, http.StatusGone, "Expired")
	default:
		if json.Valid([]byte(body)) {
			w.Header().Set("Content-Type", "application/json")
		}
		_, _ = w.Write([]byte(body))
	}
}

func status(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason + " here", "reason": reason, "code": code,
	})
}

const nodes = `{"kind":"NodeList","apiVersion":"v1","items":[
{"metadata":{"name":"linux-1"},"status":{"nodeInfo":{"operatingSystem":"linux"}}},
{"metadata":{"name":"win-1"},"status":{"nodeInfo":{"operatingSystem":"windows"}}}]}`

const pods = `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"more"},"items":[
{"metadata":{"namespace":"kube-system","name":"kube-proxy-windows-x"},"spec":{"nodeName":"win-1"},"status":{"containerStatuses":[
 {"name":"kube-proxy","containerID":"containerd://1","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}}},
 {"name":"new","state":{"waiting":{"reason":"ContainerCreating"}}}]}},
{"metadata":{"namespace":"kube-system","name":"kube-proxy-y"},"spec":{"nodeName":"linux-1"},"status":{"containerStatuses":[
 {"name":"kube-proxy","containerID":"containerd://2","state":{"running":{}}}]}}]}`

func empty(kind, version string) string {
	return `{"kind":"` + kind + `","apiVersion":"` + version + `","items":[]}`
}

// answers returns the answers of a cluster that lets everything be read.
func answers() map[string]string {
	return map[string]string{
		"/version":          `{"gitVersion":"v1.37.1"}`,
		"/api/v1/nodes":     nodes,
		"/api/v1/pods":      pods,
		"/api/v1/pods?more": empty("PodList", "v1"),
		"/api/v1/events":    empty("EventList", "v1"),
		"/api/v1/services":  empty("ServiceList", "v1"),
		"/apis/discovery.k8s.io/v1/endpointslices":                     empty("EndpointSliceList", "discovery.k8s.io/v1"),
		"/apis/networking.k8s.io/v1/networkpolicies":                   empty("NetworkPolicyList", "networking.k8s.io/v1"),
		"/apis/windows.k8s.io/v1/gmsacredentialspecs":                  `{"items":[{"metadata":{"name":"webapp"}}]}`,
		"/api/v1/namespaces/kube-system/configmaps/kube-proxy":         `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"kube-proxy"},"data":{"a":"b"}}`,
		"/api/v1/namespaces/kube-system/pods/kube-proxy-windows-x/log": "one\nunrecognized feature gate: WinDSR\xff\n",
		"/api/v1/nodes/win-1/proxy/configz":                            `{"kubeletconfig":{"clusterDNS":["10.96.0.10"],"clusterDomain":"cluster.local"}}`,
	}
}

func client(t *testing.T, a *api) kubeclient.Interface {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	c, err := kubeclient.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPicture(t *testing.T) {
	a := &api{answers: answers()}
	p, err := gather.Picture(t.Context(), client(t, a), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Missing) != 0 {
		t.Errorf("missing: %v", p.Missing)
	}

	want := []diagnose.Log{{
		Node:      "win-1",
		Pod:       "kube-system/kube-proxy-windows-x",
		Container: "kube-proxy",
		Text:      "one\nunrecognized feature gate: WinDSR·\n",
	}}
	if diff := cmp.Diff(want, p.Logs); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}

	kubelets := map[string]diagnose.Kubelet{"win-1": {ClusterDNS: []string{"10.96.0.10"}, ClusterDomain: "cluster.local"}}
	if diff := cmp.Diff(kubelets, p.Kubelets); diff != "" {
		t.Errorf("kubelets (-want +got):\n%s", diff)
	}
	if p.Version != "v1.37.1" || len(p.Nodes) != 2 || len(p.Pods) != 2 || len(p.ConfigMaps) != 1 || p.NoGMSA ||
		!cmp.Equal(p.GMSASpecs, []string{"webapp"}) {
		t.Errorf("%+v", p)
	}

	for _, line := range a.asked {
		if !strings.HasPrefix(line, "GET ") {
			t.Errorf("it does more than read: %s", line)
		}
	}
}

// TestPictureOfLess: what may not be read, is not there or makes no sense is named, and the rest is there.
func TestPictureOfLess(t *testing.T) {
	for name, tt := range map[string]struct {
		path, answer string
		missing      diagnose.Need
		says         string
	}{
		"pods are forbidden":          {"/api/v1/pods", "403", diagnose.Pods, "not permitted: Forbidden here"},
		"events are forbidden":        {"/api/v1/events", "403", diagnose.Events, "not permitted"},
		"Services are no JSON":        {"/api/v1/services", "{", diagnose.Services, ""},
		"ConfigMaps are forbidden":    {"/api/v1/namespaces/kube-system/configmaps/kube-proxy", "403", diagnose.ConfigMaps, "not permitted"},
		"GMSA's specs are forbidden":  {"/apis/windows.k8s.io/v1/gmsacredentialspecs", "403", diagnose.GMSASpecs, "not permitted"},
		"logs are forbidden":          {"/api/v1/namespaces/kube-system/pods/kube-proxy-windows-x/log", "403", diagnose.Logs, "not permitted"},
		"kubelets are forbidden":      {"/api/v1/nodes/win-1/proxy/configz", "403", diagnose.Kubelets, "win-1"},
		"a kubelet answers something": {"/api/v1/nodes/win-1/proxy/configz", `{"other":{}}`, diagnose.Kubelets, "no configuration of a kubelet"},
		"policies are forbidden":      {"/apis/networking.k8s.io/v1/networkpolicies", "403", diagnose.NetworkPolicies, "not permitted"},
		"slices are forbidden":        {"/apis/discovery.k8s.io/v1/endpointslices", "403", diagnose.EndpointSlices, "not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{answers: answers()}
			a.answers[tt.path] = tt.answer
			p, err := gather.Picture(t.Context(), client(t, a), nil)
			if err != nil {
				t.Fatal(err)
			}
			lack, ok := p.Missing[tt.missing]
			if !ok || !strings.Contains(lack.Why, tt.says) || len(p.Missing) != 1 {
				t.Errorf("missing: %v", p.Missing)
			}
			if lack.Forbidden != (tt.answer == "403") {
				t.Errorf("forbidden: %t: %v", lack.Forbidden, p.Missing)
			}
		})
	}
}

// TestPictureOfLessForTwoReasons: where one thing may not be read and another goes wrong, something went wrong.
func TestPictureOfLessForTwoReasons(t *testing.T) {
	for _, answers2 := range [][2]string{{"403", "500"}, {"500", "403"}} {
		a := &api{answers: answers()}
		a.answers["/api/v1/namespaces/kube-system/configmaps/kube-proxy"] = answers2[0]
		a.answers["/api/v1/namespaces/kube-flannel/configmaps/kube-flannel-cfg"] = answers2[1]
		p, err := gather.Picture(t.Context(), client(t, a), nil)
		if err != nil {
			t.Fatal(err)
		}
		if lack, missing := p.Missing[diagnose.ConfigMaps]; !missing || lack.Forbidden {
			t.Errorf("%v: %+v", answers2, p.Missing)
		}
	}
}

func TestPictureOfNothing(t *testing.T) {
	for name, path := range map[string]string{"no version": "/version", "no nodes": "/api/v1/nodes"} {
		a := &api{answers: answers()}
		a.answers[path] = "403"
		if _, err := gather.Picture(t.Context(), client(t, a), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}

	for name, want := range map[string]string{"linux-1": "not a Windows node", "win-9": "no node"} {
		_, err := gather.Picture(t.Context(), client(t, &api{answers: answers()}), []string{"win-1", name})
		unknown, ok := errors.AsType[*gather.UnknownNodeError](err)
		if !ok || !strings.Contains(unknown.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExpired: a list whose pages have expired is read again.
func TestExpired(t *testing.T) {
	a := &api{answers: answers()}
	a.answers["/api/v1/pods?more"] = "410"
	p, err := gather.Picture(t.Context(), client(t, a), nil)
	// the answer has a next page again, which has expired: then all is asked for in one piece, of which the same is
	// true
	if err != nil || p.Missing[diagnose.Pods].Why == "" {
		t.Errorf("%v, missing %v", err, p.Missing)
	}
}

func TestGMSAIsNotInstalled(t *testing.T) {
	a := &api{answers: answers()}
	delete(a.answers, "/apis/windows.k8s.io/v1/gmsacredentialspecs")
	p, err := gather.Picture(t.Context(), client(t, a), nil)
	if err != nil || !p.NoGMSA || len(p.Missing) != 0 {
		t.Errorf("%v, %+v", err, p.Missing)
	}
}

func TestNodes(t *testing.T) {
	picture := func() *diagnose.Picture {
		p, err := gather.Picture(t.Context(), client(t, &api{answers: answers()}), nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}

	ask := func(_ context.Context, node string) (diagnose.NodeFacts, error) {
		return diagnose.NodeFacts{Hostname: node}, nil
	}
	p := picture()
	gather.Nodes(t.Context(), p, gather.Asker{Ask: ask})
	if want := map[string]diagnose.NodeFacts{"win-1": {Hostname: "win-1"}}; !cmp.Equal(p.Facts, want) || len(p.Missing) != 0 {
		t.Errorf("%+v, missing %v", p.Facts, p.Missing)
	}

	p = picture()
	gather.Nodes(t.Context(), p, gather.Asker{Refused: "nobody allows it"})
	if len(p.Facts) != 0 || p.Missing[diagnose.Facts].Why != "nobody allows it" {
		t.Errorf("%+v, missing %v", p.Facts, p.Missing)
	}
	p = picture()
	gather.Nodes(t.Context(), p, gather.Asker{Ask: func(context.Context, string) (diagnose.NodeFacts, error) {
		return diagnose.NodeFacts{}, errors.New("it is down")
	}, Begin: func(context.Context) error { return errors.New("left behind") }})

	if len(p.Facts) != 0 || p.Missing[diagnose.Facts].Why != "left behind\nit is down" {
		t.Errorf("%+v, missing %v", p.Facts, p.Missing[diagnose.Facts])
	}
}

// TestLater: pods that were made while the nodes were asked are known; if they cannot be listed, nothing is said.
func TestLater(t *testing.T) {
	ask := func(t *testing.T, answer string, folders ...string) (*diagnose.Picture, int) {
		t.Helper()
		a := &api{answers: answers()}
		p, err := gather.Picture(t.Context(), client(t, a), nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer != "" {
			a.answers["/api/v1/pods"] = answer
		}

		before := len(a.asked)
		p.Facts["win-1"] = diagnose.NodeFacts{PodFolders: folders}
		gather.Later(t.Context(), client(t, a), p)
		return p, len(a.asked) - before
	}

	if p, asked := ask(t, ""); asked != 0 || len(p.Later) != 0 {
		t.Errorf("without folders: %d questions, %q", asked, p.Later)
	}
	if p, asked := ask(t, "", "7f3a-new"); asked == 0 || len(p.Later) != 2 || len(p.Facts["win-1"].PodFolders) != 1 {
		t.Errorf("with a folder of no pod: %d questions, %q", asked, p.Later)
	}
	if p, _ := ask(t, "403", "7f3a-new"); p.Missing[diagnose.Pods].Why == "" || p.Facts["win-1"].PodFolders != nil {
		t.Errorf("if it is forbidden: %v, %+v", p.Missing, p.Facts)
	}
}
