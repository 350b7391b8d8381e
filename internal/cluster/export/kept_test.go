package export

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/base/testrun"
)

// secret returns a text that must not be kept; where says where it was.
func secret(where string) string { return "hunter2-" + where }

// containerWith has a secret in each place in which a container can have one.
func containerWith(where string) corev1.Container {
	handler := func(in string) corev1.ProbeHandler {
		return corev1.ProbeHandler{
			Exec: &corev1.ExecAction{Command: []string{"cmd", "/c", secret(where + "-" + in + "-command")}},
			HTTPGet: &corev1.HTTPGetAction{
				Path: "/healthz?token=" + secret(where+"-"+in+"-query"),
				Port: intstr.FromString("http"),
				HTTPHeaders: []corev1.HTTPHeader{
					{Name: "Authorization", Value: "Basic " + secret(where+"-"+in+"-header")},
				},
			},
		}
	}

	hook := func(in string) *corev1.LifecycleHandler {
		h := handler(in)
		return &corev1.LifecycleHandler{Exec: h.Exec, HTTPGet: h.HTTPGet}
	}
	spec := `{"CmsPlugins": "` + secret(where+"-credentialspec") + `"}`
	return corev1.Container{
		Name:           where,
		Image:          "example.com/app:v1",
		Command:        []string{secret(where + "-command")},
		Args:           []string{"--password=" + secret(where+"-args")},
		Env:            []corev1.EnvVar{{Name: "PASSWORD", Value: secret(where + "-env")}},
		LivenessProbe:  &corev1.Probe{ProbeHandler: handler("liveness")},
		ReadinessProbe: &corev1.Probe{ProbeHandler: handler("readiness")},
		StartupProbe:   &corev1.Probe{ProbeHandler: handler("startup")},
		Lifecycle:      &corev1.Lifecycle{PostStart: hook("poststart"), PreStop: hook("prestop")},
		SecurityContext: &corev1.SecurityContext{
			WindowsOptions: &corev1.WindowsSecurityContextOptions{GMSACredentialSpec: &spec},
		},
	}
}

// templateWith returns a pod with a secret in each place.
func templateWith(where string) corev1.PodTemplateSpec {
	ephemeral := containerWith(where + "-ephemeral")
	spec := `{"CmsPlugins": "` + secret(where+"-credentialspec") + `"}`
	driver := map[string]string{"password": secret(where + "-attributes")}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{
				"vault.example/token":              secret(where + "-annotation"),
				corev1.LastAppliedConfigAnnotation: secret(where + "-applied"),
				"mullion.dev/explain":              "true",
			},
		},
		Spec: corev1.PodSpec{
			NodeName:       "win-1",
			NodeSelector:   map[string]string{"kubernetes.io/os": "windows"},
			Containers:     []corev1.Container{containerWith(where + "-container")},
			InitContainers: []corev1.Container{containerWith(where + "-init")},
			EphemeralContainers: []corev1.EphemeralContainer{{
				EphemeralContainerCommon: corev1.EphemeralContainerCommon(ephemeral),
			}},
			SecurityContext: &corev1.PodSecurityContext{
				WindowsOptions: &corev1.WindowsSecurityContextOptions{GMSACredentialSpec: &spec},
			},
			Volumes: []corev1.Volume{
				{Name: "csi", VolumeSource: corev1.VolumeSource{
					CSI: &corev1.CSIVolumeSource{Driver: "csi.example", VolumeAttributes: driver},
				}},
				{Name: "flex", VolumeSource: corev1.VolumeSource{
					FlexVolume: &corev1.FlexVolumeSource{Driver: "example/flex", Options: driver},
				}},
				{Name: "host", VolumeSource: corev1.VolumeSource{
					HostPath: &corev1.HostPathVolumeSource{Path: `C:\data`},
				}},
			},
			Tolerations: []corev1.Toleration{{Key: "os", Operator: "Equal", Value: "windows"}},
		},
	}
}

// TestNoSecretIsKept: of a secret in each place of each kind of object nothing is left, and what one looks at is there.
func TestNoSecretIsKept(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: name, Namespace: "default",
			Annotations: map[string]string{"vault.example/token": secret(name + "-annotation")},
		}
	}

	pod := templateWith("pod")
	pod.Name, pod.Namespace = "pod", "default"
	deployment := &appsv1.Deployment{ObjectMeta: meta("deployment")}
	deployment.Spec.Template = templateWith("deployment")
	daemons := &appsv1.DaemonSet{ObjectMeta: meta("daemonset")}
	daemons.Spec.Template = templateWith("daemonset")
	stateful := &appsv1.StatefulSet{ObjectMeta: meta("statefulset")}
	stateful.Spec.Template = templateWith("statefulset")
	stateful.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: meta("claim")}}
	event := &corev1.Event{
		ObjectMeta: meta("event"), Reason: "Unhealthy",
		Message: "Readiness probe failed: cmd /c " + secret("pod-container-readiness-command") + ": no such file",
	}

	client := fake.NewClientset(
		&corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}, deployment, daemons, stateful, event,
		&corev1.Node{ObjectMeta: meta("node"), Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}},
		}},
		&corev1.Service{ObjectMeta: meta("service"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}},
		&corev1.ConfigMap{ObjectMeta: meta("configmap"), Data: map[string]string{"x": secret("configmap")}},
		&corev1.Secret{ObjectMeta: meta("secret"), StringData: map[string]string{"x": secret("secret")}})

	dir := t.TempDir()
	if missing, err := Gather(t.Context(), dir, Options{Client: client}); err != nil || len(missing) > 0 {
		t.Fatalf("gather: %v, missing %v", err, missing)
	}
	files, err := filepath.Glob(filepath.Join(dir, "objects", "*.yaml"))
	if err != nil || len(files) != 8 {
		t.Fatalf("%v, %v", files, err)
	}

	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(text)
		for _, found := range regexp.MustCompile(`hunter2[\w-]*`).FindAllString(string(text), -1) {
			t.Errorf("%s has %s", filepath.Base(file), found)
		}
	}

	for file, wants := range map[string][]string{
		"pods.yaml": {
			"name: pod-ephemeral", "image: example.com/app:v1", "nodeName: win-1", "kubernetes.io/os: windows",
			"name: PASSWORD", "name: Authorization", "port: http", `path: C:\data`, "vault.example/token: <", "app: web",
			"mullion.dev/explain: \"true\"", "value: windows", "driver: csi.example", "path: /healthz?<",
		},
		"events.yaml": {"reason: Unhealthy", "Readiness probe failed: cmd /c <39 bytes removed>: no such file"},
		"nodes.yaml":  {"effect: NoSchedule", "value: windows"}, "services.yaml": {"app: web"},
		"deployments.yaml": {"name: deployment-init"}, "statefulsets.yaml": {"name: claim"},
	} {
		for _, want := range wants {
			if !strings.Contains(all[file], want) {
				t.Errorf("%s has no %q", file, want)
			}
		}
	}
}

// TestKubeletsLog: a container that did not start is in the kubelet's log with its whole specification.
func TestKubeletsLog(t *testing.T) {
	c := containerWith("log")
	text := "E1129 kuberuntime_manager.go:1449] \"Unhandled Error\" err=\"container " + strings.ReplaceAll(c.String(), `"`, `\"`) +
		" start failed in pod web: ErrImagePull\"\n"
	got := string(clean([]byte(text)))
	if found := regexp.MustCompile(`hunter2[\w-]*`).FindAllString(got, -1); len(found) > 0 {
		slices.Sort(found)
		t.Errorf("the log has %q", found)
	}
	if !strings.Contains(got, "Name:log,Image:example.com/app:v1,") || !strings.Contains(got, "start failed in pod web: ErrImagePull") {
		t.Errorf("too much is gone: %s", got)
	}
}
