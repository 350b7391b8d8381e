package logs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/node/winhost"
)

// machine is one with this command.
type machine struct {
	*clitest.Machine

	agent Agent
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Machine: clitest.New(t)}
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{New(r, m.agent)} }
	return m
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// TestLogsDebug: while the command runs the agent logs at debug, and its log is followed from there on, in the file
// that takes its place too; afterwards the level is as before. Many do so at once.
func TestLogsDebug(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Host()
	served := m.ServeHNS()
	m.agent = served.Agent
	log := filepath.Join(m.Paths.Logs(), "agent", "win-1.log")
	m.Write(log, "before\n")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make([]clitest.Outcome, 5)
	var all sync.WaitGroup
	for i, name := range []string{"win-1", "agent/win-1", "win-1", "win-1", "win-1"} {
		all.Go(func() { got[i] = m.RunIn(ctx, "logs", "--debug", name) })
	}

	until(t, "the level is debug", func() bool { return served.Level.Now() == logging.Debug })
	last := m.RunIn(ended(t), "logs", "--debug", "win-1", "--tail", "1")
	last.Check(t, exit.OK, "before\n", "the agent of node win-1 logs at debug until this command ends\n")
	if served.Level.Now() != logging.Debug {
		t.Error("the first that left has taken the level from the others")
	}

	<-time.After(time.Second) // for all to have opened the file: what was there before they did is not theirs
	add(t, log, "first\n")
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}

	add(t, log+".1", "second\n")
	add(t, log, "third\n")
	<-time.After(time.Second) // for all to have read it
	cancel()
	all.Wait()
	for _, g := range got {
		g.Check(t, exit.OK, "first\nsecond\nthird\n", "the agent of node win-1 logs at debug until this command ends\n")
	}

	until(t, "the level is as before", func() bool { return served.Level.Now() == logging.Info })
}

// ended returns a context that ends soon.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestLogsDebugRefused: what cannot be followed is said in a line, and nothing waits.
func TestLogsDebugRefused(t *testing.T) {
	m := newMachine(t)
	m.Run("logs", "--debug", "win-1").Has(t, exit.NotFound, "mullion: no cluster")
	m.Describe(nil)
	m.agent = cluster.Agent
	for args, want := range map[string]struct {
		code int
		line string
	}{
		"":            {exit.Usage, "mullion: `mullion logs` takes NODE, got 0 argument(s)"},
		"win-1 win-2": {exit.Usage, "mullion: `mullion logs` takes NODE, got 2 argument(s)"},
		"win-9":       {exit.NotFound, "mullion: no node \"win-9\"; there are linux-1, win-1"},
		"../../etc":   {exit.NotFound, "mullion: no node \"../../etc\"; there are"},
		"linux-1":     {exit.Usage, "mullion: not a Windows node: linux-1: it has no agent"},
		"win-1":       {exit.NotReady, "mullion: node win-1: "},
	} {
		got := m.Run(append([]string{"logs", "--debug"}, strings.Fields(args)...)...)
		got.Has(t, want.code, want.line)
		line, remedy, _ := strings.Cut(got.Err, "\n")
		if got.Out != "" || strings.Count(line+remedy, "mullion: ") != 1 || strings.Count(remedy, "\n") > 1 {
			t.Errorf("%q: it is not one line, with a remedy or without:\n%s%s", args, got.Out, got.Err)
		}
	}

	m.Env.Euid = 1000
	m.Run("logs", "--debug", "win-1").Has(t, exit.Requirement, "mullion: this needs root, as it changes how much the node's agent logs: sudo BIN/mullion --data-dir DATA logs --debug win-1")
}

// TestLogsDebugOfDeadAgent: the socket of an agent that was killed is still there, and nobody listens.
func TestLogsDebugOfDeadAgent(t *testing.T) {
	for _, cause := range []error{os.ErrNotExist, syscall.ECONNREFUSED} {
		err := remedy.HNS("win-1", unheld(cause))
		if exit.Code(err) != exit.NotReady || !errors.Is(err, winhost.ErrDown) {
			t.Errorf("%v: %v", cause, err)
		}
	}
	if err := unheld(os.ErrPermission); errors.Is(err, winhost.ErrDown) {
		t.Errorf("%v", err)
	}
}
