package cli

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/diagnose/fault"
)

func TestFaultList(t *testing.T) {
	m := newMachine(t)
	m.run("fault", "list").has(t, ExitOK, "pod-pings                  ?     a probe that pings the outside, which is not translated")
	m.describe(nil)
	client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "pings", Namespace: fault.Namespace, Labels: map[string]string{fault.Label: "pod-pings"},
	}})
	m.calls.Client = func(layout.Paths) (kubeclient.Interface, error) { return client, nil }
	m.run("fault", "list").has(t, ExitOK, "pod-pings                  yes   a probe that pings the outside, which is not translated",
		"dns-policy                 -     a DNS policy that Windows does not have")
	if got := m.run("fault", "list", "-o", "json"); !strings.Contains(got.out, `"id": "pod-pings",`) || !strings.Contains(got.out, `"made": true`) {
		t.Errorf("%s", got.out)
	}
	m.run("fault", "undo").check(t, ExitOK, "undone pod-pings\n", "")
	m.run("fault", "undo").check(t, ExitOK, "", "")
}

func TestFaultRefused(t *testing.T) {
	m := newMachine(t)
	m.run("fault", "make").has(t, ExitUsage, "mullion: name a fault", "→ `mullion fault list` lists them")
	m.run("fault", "make", "pod-pings", "nonsense").has(t, ExitUsage, `mullion: there is no fault "nonsense"`)
	m.run("fault", "list", "-o", "xml").has(t, ExitUsage, `mullion: --output "xml" is neither text nor json`)
	m.run("fault", "make", "pod-pings").has(t, ExitNotFound, `mullion: no cluster in "DATA"`)
}
