package about

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
)

func newMachine(t *testing.T) *clitest.Machine {
	t.Helper()
	m := clitest.New(t)
	m.Commands = func(r *reader.Reader) []*cobra.Command {
		return []*cobra.Command{Version(r.Env.Out), Support(r.Env.Out)}
	}
	return m
}

func TestVersion(t *testing.T) {
	m := newMachine(t)
	m.Run("version").Check(t, exit.OK, "mullion "+version.Mullion()+"\nkubernetes "+version.Kubernetes+"\n"+
		runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH+"\n", "")
	var told map[string]string
	if err := json.Unmarshal([]byte(m.Run("version", "-o", "json").Out), &told); err != nil {
		t.Fatal(err)
	}

	want := map[string]string{"mullion": version.Mullion(), "kubernetes": version.Kubernetes, "go": runtime.Version()}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	m.Run("--version").Check(t, exit.OK, "mullion version "+version.Mullion()+"\n", "")
	m.Run("support", "--version").Refused(t, exit.Usage, "unknown flag: --version", "`mullion version` prints the versions")
}

// broken fails as a closed pipe does.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestVersionThatNobodyReads(t *testing.T) {
	m := newMachine(t)
	m.Env.Args = []string{"version"}
	m.Env.Out, m.Env.Err = broken{}, &strings.Builder{}
	if err := m.Execute(t.Context(), m.Env); !errors.Is(err, syscall.EPIPE) || exit.Code(err) != exit.Internal {
		t.Errorf("%v, code %d", err, exit.Code(err))
	}
}
