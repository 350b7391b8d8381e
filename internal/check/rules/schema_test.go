package rules_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	nodev1 "k8s.io/api/node/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	sigs "sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/rules"
)

// kinds returns the types of the objects that fixtures and rules speak of.
func kinds() map[string]any {
	return map[string]any{
		"Pod": &corev1.Pod{}, "Service": &corev1.Service{}, "PersistentVolumeClaim": &corev1.PersistentVolumeClaim{},
		"Deployment": &appsv1.Deployment{}, "DaemonSet": &appsv1.DaemonSet{}, "StatefulSet": &appsv1.StatefulSet{},
		"Job": &batchv1.Job{}, "CronJob": &batchv1.CronJob{},
		"KubeletConfiguration": &kubeletv1beta1.KubeletConfiguration{}, "RuntimeClass": &nodev1.RuntimeClass{},
		"StorageClass": &storagev1.StorageClass{}, "ConfigMap": &corev1.ConfigMap{},
		"KubeProxyConfiguration": &kubeProxyConfiguration{},
		"ReplicaSet":             &appsv1.ReplicaSet{}, "ClusterRole": &rbacv1.ClusterRole{},
	}
}

// kubeProxyConfiguration has the fields of kubeproxy.config.k8s.io/v1alpha1 that fixtures name.
type kubeProxyConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	Mode            string          `json:"mode,omitempty"`
	FeatureGates    map[string]bool `json:"featureGates,omitempty"`
}

// goneKinds returns the types of the kinds in versions that are gone, as far as they differ.
func goneKinds() map[string]any {
	return map[string]any{
		"extensions/v1beta1 Ingress":                  &extensionsv1beta1.Ingress{},
		"networking.k8s.io/v1beta1 Ingress":           &networkingv1beta1.Ingress{},
		"policy/v1beta1 PodDisruptionBudget":          &policyv1beta1.PodDisruptionBudget{},
		"discovery.k8s.io/v1beta1 EndpointSlice":      &discoveryv1beta1.EndpointSlice{},
		"networking.k8s.io/v1 Ingress":                &networkingv1.Ingress{},
		"autoscaling/v2beta2 HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{},
		"extensions/v1beta1 Deployment":               &extensionsv1beta1.Deployment{},
		"policy/v1beta1 PodSecurityPolicy":            &map[string]any{}, // in no module any more
	}
}

// TestFields holds that every path of a rule is one of Kubernetes' own types, so that a typing error does not make a
// rule that never holds.
func TestFields(t *testing.T) {
	for _, rule := range rules.All() {
		var paths []string
		for _, m := range append(rule.When, rule.Match...) {
			paths = append(paths, m.Path)
		}

		for _, path := range append(paths, rule.Fields...) {
			if err := resolve(rule.Target, path); err != "" {
				t.Errorf("%s: %s: %s", rule.ID, path, err)
			}
		}
	}

	for path, want := range map[string]string{
		"spec.hostNetwrk": "no field hostNetwrk", "spec.volumes.name": "volumes is a list",
		"spec.hostNetwork[*]": "hostNetwork is no list", "spec.os[x]": "os has fixed keys",
	} {
		if got := resolve(check.OnPod, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// resolve follows a path down the types and says what is wrong with it.
func resolve(target check.Target, path string) string {
	at := reflect.TypeFor[corev1.Pod]()
	if target == check.OnContainer && !strings.HasPrefix(path, "spec.") {
		at = reflect.TypeFor[corev1.Container]()
	}

	if kind, rest, ok := strings.Cut(path, ":"); ok && !strings.Contains(kind, "[") {
		if kinds()[kind] == nil {
			return "no kind " + kind
		}
		at, path = reflect.TypeOf(kinds()[kind]).Elem(), rest
	}
	if path == "spec.replicas" { // of a workload
		at = reflect.TypeFor[appsv1.Deployment]()
	}

	last := ""
	for part := range strings.SplitSeq(keysApart(path), "\x00") {
		for at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		switch {
		case part == "*":
			if at.Kind() != reflect.Slice {
				return last + " is no list"
			}
			at = at.Elem()

		case strings.HasPrefix(part, "["):
			if at.Kind() != reflect.Map {
				return last + " has fixed keys"
			}
			at = at.Elem()

		case at.Kind() == reflect.Slice:
			return last + " is a list"
		default:
			next, ok := jsonField(at, part)
			if !ok {
				return "no field " + part
			}
			at, last = next, part
		}
	}

	return ""
}

// keysApart cuts a path into fields, "*" and "[key", with NUL between them.
func keysApart(path string) string {
	var b strings.Builder
	key := false
	for _, r := range path {
		switch {
		case r == '[':
			key = true
			b.WriteString("\x00[")
		case r == ']':
			key = false
		case r == '.' && !key:
			b.WriteByte(0)
		default:
			b.WriteRune(r)
		}
	}

	return strings.ReplaceAll(b.String(), "[*", "*")
}

// jsonField finds the field of a struct that JSON calls name, embedded ones too.
func jsonField(t reflect.Type, name string) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct {
		return nil, false
	}

	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name && name != "" {
			return f.Type, true
		}
		if f.Anonymous && tag == "" {
			if inner, ok := jsonField(f.Type, name); ok {
				return inner, true
			}
		}
	}

	return nil, false
}

// TestFixturesAreKubernetes holds that fixtures are what the API server could decode: a Func that looks for a field
// which is not there finds nothing in them.
func TestFixturesAreKubernetes(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		decodeStrictly(t, file)
	}
}

func decodeStrictly(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	docs := yaml.NewDocumentDecoder(f)
	for buf := make([]byte, 1<<20); ; {
		n, err := docs.Read(buf)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}

		var kind struct{ APIVersion, Kind string }
		if err := sigs.Unmarshal(buf[:n], &kind); err != nil {
			t.Fatalf("%s: %v", file, err)
		}

		into := goneKinds()[kind.APIVersion+" "+kind.Kind]
		if into == nil {
			into = kinds()[kind.Kind]
		}
		if into == nil {
			t.Errorf("%s: kind %q is not known to the test", file, kind.Kind)
			continue
		}

		if err := sigs.UnmarshalStrict(buf[:n], into); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestWrongObjects gives the rules about objects each kind that they know, with every value of a wrong type.
func TestWrongObjects(t *testing.T) {
	c, err := check.New(rules.All(), options(t, ""))
	if err != nil {
		t.Fatal(err)
	}

	for _, value := range []string{"null", "true", "1", "x", "[]", "[null]", "[x]", "{}", "{x: y}", "[{x: null}]"} {
		for _, head := range []string{
			"apiVersion: networking.k8s.io/v1beta1\nkind: Ingress\n", "apiVersion: extensions/v1beta1\nkind: Deployment\n",
			"apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\n", "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\n",
			"apiVersion: flowcontrol.apiserver.k8s.io/v1beta2\nkind: PriorityLevelConfiguration\n",
			"apiVersion: discovery.k8s.io/v1beta1\nkind: EndpointSlice\n", "apiVersion: v1\nkind: ConfigMap\n",
			"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n", "apiVersion: " + value + "\nkind: " + value + "\n",
		} {
			for _, spec := range []string{
				value, "{backend: " + value + ", rules: " + value + ", selector: " + value + ", template: " + value + ", limited: " + value + "}",
				"{backend: {serviceName: " + value + ", servicePort: " + value + "}, rules: [{http: {paths: [{backend: {serviceName: " + value +
					", servicePort: " + value + "}}]}}], template: {metadata: {labels: " + value + "}, spec: {containers: " + value + "}}}",
			} {
				text := head + "metadata: " + value + "\nfeatureGates: " + value + "\nhandler: " + value + "\ndata: {x: 'featureGates: " + value +
					"'}\nendpoints: " + value + "\nspec: " + spec + "\n"
				err := c.Run(t.Context(), "f", strings.NewReader(text), func(check.Result) error { return nil })
				if err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}

	if err := c.Finish(func(check.Result) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestWrongTypes gives every rule a pod in which each value has the wrong type.
func TestWrongTypes(t *testing.T) {
	for _, value := range []string{"null", "true", "1", "x", "[]", "[null]", "[x]", "{}", "{x: y}"} {
		in := "apiVersion: v1\nkind: Pod\nmetadata: " + value + "\nspec: {containers: " + value + ", volumes: " + value + ", tolerations: " + value +
			", nodeSelector: " + value + ", securityContext: " + value + ", initContainers: [{image: " + value + ", env: " + value + ", command: " + value +
			", resources: {limits: " + value + ", requests: " + value + "}, volumeMounts: [{mountPath: " + value + "}], securityContext: " + value + "}]}\n"
		c, err := check.New(rules.All(), options(t, ""))
		if err != nil {
			t.Fatal(err)
		}

		judged := 0
		emit := func(r check.Result) error {
			judged += r.Pods[check.Windows] + r.Pods[check.Either]
			return nil
		}
		if err := c.Run(t.Context(), "f", strings.NewReader(in), emit); err != nil {
			t.Fatal(err)
		}

		if err := c.Finish(emit); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(1, judged); diff != "" {
			t.Errorf("%s: %s", value, diff)
		}
	}
}
