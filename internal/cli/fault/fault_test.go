package fault

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/diagnose/fault"
)

func newMachine(t *testing.T) *clitest.Machine {
	t.Helper()
	m := clitest.New(t)
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{New(r)} }
	return m
}

func TestFaultList(t *testing.T) {
	m := newMachine(t)
	m.Run("fault", "list").Has(t, exit.OK, "pod-pings                  ?     a probe that pings the outside, which is not translated")
	m.Describe(nil)
	client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "pings", Namespace: fault.Namespace, Labels: map[string]string{fault.Label: "pod-pings"},
	}})

	m.Sources.Client = func(layout.Paths) (kubeclient.Interface, error) { return client, nil }
	m.Run("fault", "list").Has(t, exit.OK, "pod-pings                  yes   a probe that pings the outside, which is not translated",
		"dns-policy                 -     a DNS policy that Windows does not have")
	if got := m.Run("fault", "list", "-o", "json"); !strings.Contains(got.Out, `"id": "pod-pings",`) || !strings.Contains(got.Out, `"made": true`) {
		t.Errorf("%s", got.Out)
	}
	m.Run("fault", "undo").Check(t, exit.OK, "undone pod-pings\n", "")
	m.Run("fault", "undo").Check(t, exit.OK, "", "")
}

func TestFaultRefused(t *testing.T) {
	m := newMachine(t)
	m.Run("fault", "make").Has(t, exit.Usage, "mullion: name a fault", "→ `mullion fault list` lists them")
	m.Run("fault", "make", "pod-pings", "nonsense").Has(t, exit.Usage, `mullion: there is no fault "nonsense"`)
	m.Run("fault", "list", "-o", "xml").Has(t, exit.Usage, `mullion: --output "xml" is neither text nor json`)
	m.Run("fault", "make", "pod-pings").Has(t, exit.NotFound, `mullion: no cluster in "DATA"`)
}
