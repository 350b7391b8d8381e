package down

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/kubeconfig"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/layout"
)

// machine is one with these commands.
type machine struct {
	*clitest.Machine

	calls Calls
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Machine: clitest.New(t)}
	m.Commands = func(r *reader.Reader) []*cobra.Command {
		commands := New(r, m.calls)
		return []*cobra.Command{commands.Down(), commands.Stop(), commands.Leave()}
	}
	return m
}

// ended notes what of a machine was ended or removed.
func (m *machine) ended(err error) *[]string {
	var did []string
	note := func(what string) func(context.Context, layout.Paths, func(string)) error {
		return func(_ context.Context, paths layout.Paths, said func(string)) error {
			if paths != m.Paths {
				m.T.Errorf("%s of %v", what, paths)
			}
			did = append(did, what)
			said("ended things (" + what + ")")
			return err
		}
	}
	m.calls.Stop, m.calls.Down = note("stop"), note("down")
	return &did
}

func TestStop(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.ended(nil)
	m.Run("stop").Check(t, exit.OK, "ok   ended things (stop)\n", "")
	m.ended(errors.New("it stays"))
	m.Run("stop").Check(t, exit.Internal, "ok   ended things (stop)\n", "mullion: it stays\n")
}

// TestDown holds that the cluster's context goes with it, and that a data folder that cannot be read is no hindrance.
func TestDown(t *testing.T) {
	m := newMachine(t)
	m.Write(m.Paths.AdminKubeconfig(), clitest.Kubeconfig("https://127.0.0.1:6443"))
	person, err := kubeconfig.PersonalOf(m.Env.Environ, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := person.Merge(t.Context(), m.Paths, "mullion"); err != nil {
		t.Fatal(err)
	}

	m.Describe(nil)
	did := m.ended(nil)
	m.Run("down").Check(t, exit.OK, "ok   ended things (down)\n", "")
	if diff := cmp.Diff([]string{"down"}, *did); diff != "" {
		t.Error(diff)
	}

	config := filepath.Join(filepath.Dir(m.Paths.Data), ".kube", "config")
	if text, err := os.ReadFile(config); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kubeconfig says %s, %v", text, err)
	}
	m.Write(m.Paths.Spec(), `{"kind": "Clus`)
	m.Run("down").Check(t, exit.OK, "ok   ended things (down)\n", "mullion: read \"DATA/cluster.json\": "+
		"unexpected end of JSON input; removing what is there anyway\n")
	m.ended(errors.New("busy"))
	m.Run("down").Has(t, exit.Internal, "mullion: busy")
}

// TestQuiet prints nothing where nothing is wrong.
func TestQuiet(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.ended(nil)
	m.Run("stop", "--quiet").Check(t, exit.OK, "", "")
	m.Run("down", "-q").Check(t, exit.OK, "", "")
}

// TestDownOfRunAlone: a flag that says something of a cluster is refused beside --run, and not overlooked.
func TestDownOfRunAlone(t *testing.T) {
	newMachine(t).Run("down", "--run", "--kubeconfig", "x").Refused(t, exit.Usage,
		"--kubeconfig is for a cluster, and --run leaves that alone", "leave one of them out")
}
