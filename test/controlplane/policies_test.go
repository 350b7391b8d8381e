//go:build kernel

package controlplane_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/policy"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

// testPolicies applies the checker's policies to the API server. First all of them warn, and every fixture of the rules
// is created in a dry run: the warnings are the server's verdict. Then they are as they are printed: refusing, and
// changing pods.
func testPolicies(t *testing.T, admin *kubeclient.Client) {
	t.Helper()
	eventually(t, "the default service account", func() error {
		_, _, err := create(t, admin, probe("Pod", "containers: [{name: c, image: i}]"))
		return err
	})

	all := celRules()
	var text bytes.Buffer
	if err := policy.Write(&text, all, 37); err != nil {
		t.Fatal(err)
	}

	warning := bytes.ReplaceAll(text.Bytes(), []byte("[Deny]"), []byte("[Warn]"))
	validating, mutating, ok := bytes.Cut(warning, []byte("---\n# ")) // the first that changes pods has a comment
	if !ok {
		t.Fatal("no policy changes pods")
	}
	defer remove(t, admin, documents(t, text.Bytes())) // the tests that follow know nothing of policies

	apply(t, admin, validating)
	windows := "nodeSelector: {kubernetes.io/os: windows}, containers: [{name: c, image: i, volumeDevices: [{name: v, devicePath: /x}]}], volumes: [{name: v, persistentVolumeClaim: {claimName: v}}], hostPID: true"
	for _, kind := range []string{"Pod", "Deployment", "CronJob"} {
		eventually(t, "the policies for "+kind, func() error {
			warned, _, err := create(t, admin, probe(kind, windows))
			if err == nil && (!slices.Contains(warned, "host-pid") || !slices.Contains(warned, "volume-devices")) {
				err = fmt.Errorf("warned of %v", warned)
			}
			return err
		})
	}

	testSameVerdict(t, admin, all)
	apply(t, admin, append([]byte("---\n# "), mutating...))
	testMutations(t, admin)
	apply(t, admin, text.Bytes()) // as they are printed
	eventually(t, "what cannot work is refused", func() error {
		_, _, err := create(t, admin, probe("Pod", windows))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "volume-devices") {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	})
}

// celRules returns the rules with a form in CEL, freed of what keeps them from being asked here: versions, and what the
// pod is for.
func celRules() []check.Rule {
	var out []check.Rule
	for _, r := range rules.All() {
		if _, ok := r.CEL("object"); ok {
			r.Since = 0
			r.Until = 0
			r.SinceBuild = 0
			r.UntilBuild = 0
			r.Refused = 0
			r.Systems = nil
			r.Unplaced = false
			r.Fix = nil
			out = append(out, r)
		}
	}
	return out
}

// probe returns an object of a kind with a pod specification in flow style.
func probe(kind, spec string) map[string]any {
	text := map[string]string{
		"Pod":        "{apiVersion: v1, kind: Pod, metadata: {name: probe}, spec: {%s}}",
		"Deployment": "{apiVersion: apps/v1, kind: Deployment, metadata: {name: probe}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {%s}}}}",
		"CronJob":    "{apiVersion: batch/v1, kind: CronJob, metadata: {name: probe}, spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, %s}}}}}}",
	}[kind]
	var o map[string]any
	if err := yaml.Unmarshal(fmt.Appendf(nil, text, spec), &o); err != nil {
		panic(err)
	}
	return o
}

// path returns where an object is created.
func path(o map[string]any) string {
	version, kind := o["apiVersion"].(string), strings.ToLower(o["kind"].(string))
	root := "/api/"
	if strings.Contains(version, "/") {
		root = "/apis/"
	}
	plural := kind + "s"
	if before, ok := strings.CutSuffix(kind, "policy"); ok {
		plural = before + "policies"
	}
	if strings.HasPrefix(version, "admissionregistration") {
		return root + version + "/" + plural
	}
	return root + version + "/namespaces/default/" + plural
}

// create creates an object in a dry run; it gives the rules that were warned of, and the object as it would be stored.
func create(t *testing.T, admin *kubeclient.Client, o map[string]any) (warned []string, made []byte, err error) {
	t.Helper()
	body, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}

	res := admin.CoreV1().RESTClient().Post().WarningHandler(rest.NoWarnings{}).AbsPath(path(o)).Param("dryRun",
		"All").SetHeader("Content-Type", "application/json").Body(body).Do(t.Context())
	for _, w := range res.Warnings() {
		if _, message, ok := strings.Cut(w.Text, "with binding '"); ok {
			_, message, _ = strings.Cut(message, "': ")
			id, _, _ := strings.Cut(message, ":")
			warned = append(warned, id)
		}
	}

	slices.Sort(warned)
	if err := res.Error(); err != nil {
		return nil, nil, err
	}
	made, err = res.Raw()
	return slices.Compact(warned), made, err
}

// documents returns the objects of a text.
func documents(t *testing.T, text []byte) []map[string]any {
	t.Helper()
	var out []map[string]any
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}

		if len(o) > 0 {
			out = append(out, o)
		}
	}
}

// apply creates the objects of a text, in place of those of the same names.
func apply(t *testing.T, admin *kubeclient.Client, text []byte) {
	t.Helper()
	all := documents(t, text)
	remove(t, admin, all)
	for _, o := range all {
		body, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := admin.CoreV1().RESTClient().Post().AbsPath(path(o)).SetHeader("Content-Type",
			"application/json").Body(body).Do(t.Context()).Error(); err != nil {
			t.Fatalf("create %s: %v", path(o), err)
		}
	}
}

func remove(t *testing.T, admin *kubeclient.Client, all []map[string]any) {
	t.Helper()
	for _, o := range all {
		name := o["metadata"].(map[string]any)["name"].(string)
		if err := admin.CoreV1().RESTClient().Delete().AbsPath(path(o), name).Do(t.Context()).Error(); err != nil &&
			!apierrors.IsNotFound(err) {
			t.Errorf("delete %s: %v", name, err)
		}
	}
}

// podSpec finds the pod's specification in an object; nil if it has none that policies look at.
func podSpec(o map[string]any) map[string]any {
	at := map[string][]string{
		"Pod": {"spec"}, "Deployment": {"spec", "template", "spec"}, "StatefulSet": {"spec", "template", "spec"},
		"DaemonSet": {"spec", "template", "spec"},
		"Job":       {"spec", "template", "spec"}, "CronJob": {"spec", "jobTemplate", "spec", "template", "spec"},
	}[o["kind"].(string)]

	for _, key := range at {
		next, ok := o[key].(map[string]any)
		if !ok {
			return nil
		}
		o = next
	}

	if len(at) == 0 {
		return nil
	}
	return o
}

// variants returns a fixture's object placed on Windows in the two ways that policies know: os.name, of which the API
// server itself refuses much, and the node selector. ok is false if it has no pod.
func variants(text []byte) (out []map[string]any) {
	for _, byName := range []bool{true, false} {
		var o map[string]any
		if json.Unmarshal(text, &o) != nil {
			return nil
		}
		spec := podSpec(o)
		if spec == nil {
			return nil
		}

		complete(o, spec)
		if byName {
			spec["os"] = map[string]any{"name": "windows"}
		} else {
			delete(spec, "os")
			selector, _ := spec["nodeSelector"].(map[string]any)
			selector = maps.Clone(selector)
			if selector == nil {
				selector = map[string]any{}
			}
			selector["kubernetes.io/os"] = "windows"
			spec["nodeSelector"] = selector
		}

		out = append(out, o)
	}

	return out
}

// complete adds what fixtures leave out because no rule asks for it, and the API server does.
func complete(o, spec map[string]any) {
	delete(spec, "runtimeClassName") // which would have to be there
	delete(spec, "ephemeralContainers")
	if cs, _ := spec["containers"].([]any); len(cs) == 0 {
		spec["containers"] = []any{map[string]any{"name": "c", "image": "i"}}
	}

	for _, list := range []string{"containers", "initContainers"} {
		cs, _ := spec[list].([]any)
		for i, c := range cs {
			c, _ := c.(map[string]any)
			if c["image"] == nil {
				c["image"] = "i"
			}
			if c["name"] == nil {
				c["name"] = fmt.Sprintf("%.1s%d", list, i)
			}
		}
	}

	labels := map[string]any{"fixture": "x"}
	if o["kind"] == "Pod" {
		return
	}

	outer, _ := o["spec"].(map[string]any)
	switch o["kind"] {
	case "CronJob", "Job":
		if spec["restartPolicy"] == nil {
			spec["restartPolicy"] = "Never"
		}
		if o["kind"] == "CronJob" && outer["schedule"] == nil {
			outer["schedule"] = "* * * * *"
		}

	default:
		template, _ := outer["template"].(map[string]any)
		meta, _ := template["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
			template["metadata"] = meta
		}
		meta["labels"], outer["selector"] = labels, map[string]any{"matchLabels": labels}
	}
}

// testSameVerdict: what the API server warns of is what the rules find.
func testSameVerdict(t *testing.T, admin *kubeclient.Client, all []check.Rule) {
	t.Helper()
	c, err := check.New(all, check.Options{Kubernetes: 37, Windows: winver.All()})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../internal/check/rules/testdata/*/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}

	// Fields that the API server drops before policies see them, because their feature gates (ContainerStopSignals,
	// VolumeBindMountOptions) are off by default.
	dropped := map[string]string{"stop-signal": "stopSignal", "bind-mount-options": "bindMountOptions"}
	found := map[string]int{}
	none := 0
	refused := 0
	for _, file := range files {
		if strings.Contains(file, "/api-version-gone/") {
			continue // which the API server does not have: testVersions
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		for _, o := range documents(t, text) {
			plain, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}

			for _, v := range variants(plain) {
				warned, made, err := create(t, admin, v)
				if apierrors.IsInvalid(err) {
					refused++ // before the policies are asked
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", file, err)
					continue
				}

				want := slices.DeleteFunc(verdict(t, c, v), func(id string) bool {
					// not f:stopSignal of managedFields
					return dropped[id] != "" && !bytes.Contains(made, []byte(`"`+dropped[id]+`":`))
				})
				if !slices.Equal(want, warned) {
					t.Errorf("%s: the rules find %q, the API server warns of %q", file, want, warned)
				}

				none += len(all) - len(want)
				for _, id := range want {
					found[id]++
				}
			}
		}
	}

	t.Logf("%d rules; %d verdicts with a finding and %d without; %d objects the API server refuses by itself", len(all),
		sum(found), none, refused)
	for _, r := range all {
		if found[r.ID] == 0 && dropped[r.ID] == "" {
			t.Errorf("%s: no fixture with a finding reached its policy", r.ID)
		}
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// verdict returns the rules that find something.
func verdict(t *testing.T, c *check.Checker, o map[string]any) []string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}

	var ids []string
	gather := func(r check.Result) error {
		for _, f := range r.Findings {
			ids = append(ids, f.Rule.ID)
		}
		return nil
	}

	if err := errors.Join(c.Run(t.Context(), "f", bytes.NewReader(text), gather), c.Finish(gather)); err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// testMutations: pods whose system is known get its selector, those for Windows the tolerations; others stay as they
// are. What cannot work is refused.
func testMutations(t *testing.T, admin *kubeclient.Client) {
	t.Helper()
	const c = "containers: [{name: c, image: i}]"
	made := func(spec string) (selector map[string]string, keys []string) {
		_, text, err := create(t, admin, probe("Pod", spec))
		if err != nil {
			t.Fatal(err)
		}
		var pod corev1.Pod
		if err := json.Unmarshal(text, &pod); err != nil {
			t.Fatal(err)
		}

		for _, tol := range pod.Spec.Tolerations {
			// which every pod gets
			if !strings.HasPrefix(tol.Key, "node.kubernetes.io/not-ready") &&
				!strings.HasPrefix(tol.Key, "node.kubernetes.io/unreachable") {
				keys = append(keys, tol.Key+"="+tol.Value)
			}
		}

		return pod.Spec.NodeSelector, keys
	}

	eventually(t, "the policies that change pods", func() error {
		selector, keys := made("os: {name: windows}, " + c)
		if selector["kubernetes.io/os"] != "windows" || len(keys) != 2 {
			return fmt.Errorf("selector %v, tolerations %v", selector, keys)
		}
		return nil
	})

	both := []string{"os=windows", "node.kubernetes.io/os=windows"}
	for _, tc := range []struct {
		spec     string
		selector map[string]string
		keys     []string
	}{
		{c, nil, nil},
		{"os: {name: linux}, " + c, map[string]string{"kubernetes.io/os": "linux"}, nil},
		{
			"os: {name: windows}, nodeSelector: {disk: ssd}, " + c,
			map[string]string{"disk": "ssd", "kubernetes.io/os": "windows"},
			both,
		},
		{"nodeSelector: {kubernetes.io/os: windows}, " + c, map[string]string{"kubernetes.io/os": "windows"}, both},
		{
			"nodeSelector: {kubernetes.io/os: windows}, tolerations: [{key: os, operator: Exists}], " + c,
			map[string]string{"kubernetes.io/os": "windows"},
			[]string{"os=", both[1]},
		},
		{
			"nodeSelector: {kubernetes.io/os: windows}, tolerations: [{operator: Exists}], " + c,
			map[string]string{"kubernetes.io/os": "windows"},
			[]string{"="},
		},
	} {
		selector, keys := made(tc.spec)
		if diff := cmp.Diff(tc.selector, selector) + cmp.Diff(tc.keys, keys); diff != "" {
			t.Errorf("%s:\n%s", tc.spec, diff)
		}
	}
}
