package bootstrap

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/windows/winver"
)

func TestRuntimeClasses(t *testing.T) {
	builds := map[string]winver.Build{}
	for _, name := range []string{"ltsc2019", "20h2", "ltsc2022"} {
		b, err := winver.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		builds[name] = b
	}

	client := fake.NewClientset(&nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "windows-mine"},
		Handler:    "somebody-elses",
	})

	for _, step := range []struct {
		versions, want []string
	}{
		{
			[]string{"ltsc2022", "20h2", "ltsc2022"},
			[]string{"runhcs-wcow-hypervisor", "windows-20h2", "windows-ltsc2022", "windows-mine"},
		},
		{
			[]string{"ltsc2019", "ltsc2022"},
			[]string{"runhcs-wcow-hypervisor", "windows-ltsc2019", "windows-ltsc2022", "windows-mine"},
		},
	} {
		var windows []winver.Build
		for _, v := range step.versions {
			windows = append(windows, builds[v])
		}

		if err := applyClasses(t.Context(), client, windows); err != nil {
			t.Fatal(err)
		}

		list, err := client.NodeV1().RuntimeClasses().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, c := range list.Items {
			got[c.Name] = true
		}

		want := map[string]bool{}
		for _, name := range step.want {
			want[name] = true
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with versions %v (-want +got):\n%s", step.versions, diff)
		}
	}

	class, err := client.NodeV1().RuntimeClasses().Get(t.Context(), "windows-ltsc2022", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	want := &nodev1.Scheduling{
		NodeSelector: map[string]string{
			"kubernetes.io/os":                 "windows",
			"node.kubernetes.io/windows-build": "10.0.20348",
		},
		Tolerations: []corev1.Toleration{{Key: "os", Operator: "Equal", Value: "windows", Effect: "NoSchedule"}},
	}

	if diff := cmp.Diff(want, class.Scheduling); diff != "" || class.Handler != "runhcs-wcow-process" {
		t.Errorf("handler %q, scheduling (-want +got):\n%s", class.Handler, diff)
	}
}
