package net

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/nettest"
	"mullion.dev/mullion/internal/spec"
)

// machine is one with these commands.
type machine struct {
	*clitest.Machine

	test Test
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Machine: clitest.New(t)}
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{New(r, m.test)} }
	return m
}

// withoutNodes is a cluster whose stores of images need nothing.
func withoutNodes(c *spec.Cluster) { *c = spec.Default(nil, true, "192.0.2.10").WithDefaults() }

// flow returns a result of the network test.
func flow(name string, o nettest.Outcome) nettest.Result {
	return nettest.Result{
		Flow:     name,
		Protocol: "TCP",
		Expected: "answered",
		Seen:     "seen so",
		Outcome:  o,
		Took:     3 * time.Millisecond,
		Source:   nettest.Source{Title: "A page", URL: "https://example.com/page"},
	}
}

// reporting has the network test carry out flows.
func (m *machine) reporting(err error, results ...nettest.Result) {
	m.test = func(_ context.Context, _ layout.Paths, c nettest.Config) (nettest.Report, error) {
		c.Step("starting pods")
		for i, r := range results {
			c.Done(i+1, len(results), r)
		}
		return nettest.Report{
			Mode:    spec.ModeL2Bridge,
			Profile: spec.ProfileFaithful,
			Results: results,
		}, err
	}
}

func TestNetTestReports(t *testing.T) {
	good := flow("pod to pod", nettest.AsDocumented)
	bad := flow("pod to node port", nettest.Different)
	left := flow("outside", nettest.Skipped)

	const table = `FLOW              PROTOCOL  EXPECTED  SEEN     TIME  RESULT
pod to pod        TCP       answered  seen so  3ms   as documented
`

	const reset = "\r\033[K"
	for _, tt := range []struct {
		name     string
		results  []nettest.Result
		terminal bool
		code     int
		out, say string
	}{
		{
			name:    "all-as-documented",
			results: []nettest.Result{good},
			out: strings.Replace(strings.Replace(table, "      PROTOCOL", "PROTOCOL", 1), "      TCP", "TCP", 1) +
				"\n1 flows as documented, 0 not, 0 skipped (mode l2bridge, profile faithful)\n",
			say: "… starting pods\n",
		},
		{
			name:    "a-difference",
			results: []nettest.Result{good, bad, left},
			code:    exit.Different,
			out: table + "pod to node port  TCP       answered  seen so  3ms   DIFFERENT\n" +
				"outside           TCP       answered  seen so        skipped\n" +
				"\nWhat was expected is documented at:\n  A page\n    https://example.com/page\n" +
				"\n1 flows as documented, 1 not, 1 skipped (mode l2bridge, profile faithful)\n",
			say: "… starting pods\n2/3 pod to node port, TCP: DIFFERENT\n",
		},
		{
			name:     "on-a-terminal",
			results:  []nettest.Result{good},
			terminal: true,
			out: strings.Replace(strings.Replace(table, "      PROTOCOL", "PROTOCOL", 1), "      TCP", "TCP", 1) +
				"\n1 flows as documented, 0 not, 0 skipped (mode l2bridge, profile faithful)\n",
			say: reset + "… starting pods" + reset + "1/1 pod to pod, TCP: as documented" + reset,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.Describe(withoutNodes)
			m.Env.Terminal = tt.terminal
			m.reporting(nil, tt.results...)
			m.Run("net", "test").Check(t, tt.code, tt.out, tt.say)
		})
	}
}

// TestNetTestForPrograms holds that a difference is known by the exit code too, and that nothing else is printed.
func TestNetTestForPrograms(t *testing.T) {
	m := newMachine(t)
	m.Describe(withoutNodes)
	m.reporting(nil, flow("a", nettest.Different))
	got := m.Run("net", "test", "-o", "json")
	var report nettest.Report
	if err := json.Unmarshal([]byte(got.Out), &report); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]nettest.Result{flow("a", nettest.Different)}, report.Results); diff != "" {
		t.Error(diff)
	}

	if got.Code != exit.Different || got.Err != "" {
		t.Errorf("exit code %d, said %q", got.Code, got.Err)
	}
}

func TestNetTestIsAskedWhatTheFlagsSay(t *testing.T) {
	m := newMachine(t)
	m.Describe(withoutNodes)
	m.test = func(ctx context.Context, paths layout.Paths, c nettest.Config) (nettest.Report, error) {
		deadline, _ := ctx.Deadline()
		if left := time.Until(deadline); left > time.Minute || left < 50*time.Second {
			t.Errorf("%s left, want a minute", left)
		}
		if paths != m.Paths || !c.Only.MatchString("ClusterIP, TCP") || c.Only.MatchString("ping") {
			t.Errorf("only %v in %v", c.Only, paths)
		}
		return nettest.Report{}, nil
	}
	m.Run("net", "test", "--flows", "ClusterIP|NodePort", "--timeout", "1m", "--mode", "l2bridge").Has(t, exit.OK)
}

func TestNetTestRefusals(t *testing.T) {
	m := newMachine(t)
	m.reporting(nil)
	const none = `no cluster in "DATA"`
	m.Run("net", "test").Refused(t, exit.NotFound, none,
		"bring one up with `mullion up`, or name its folder with --data-dir")
	m.Run("net", "test", "-o", "yaml").Refused(t, exit.Usage, `--output "yaml"`, "choose text or json")
	m.Run("net", "test", "--flows", "(").Has(t, exit.Usage, "mullion: --flows: error parsing regexp",
		"→ give a regular expression, as --flows 'ClusterIP|NodePort'")
	m.Describe(withoutNodes)
	m.Run("net", "test", "--mode", "overlay").Refused(t, exit.Usage,
		`cluster "mullion" has network mode l2bridge, not overlay`,
		"bring up a cluster whose cluster.yaml says so (networking.mode)")

	m.reporting(fmt.Errorf("choose flows: %w", nettest.ErrNoFlow))
	m.Run("net", "test").Has(t, exit.Usage, "mullion: choose flows: "+nettest.ErrNoFlow.Error(),
		"→ `mullion net flows` lists the names")
	m.reporting(fmt.Errorf("wait for pods: %w", context.DeadlineExceeded))
	m.Run("net", "test").Has(t, exit.NotReady, "mullion: wait for pods: ", "→ see `mullion status` and DATA/logs")
	m.reporting(&cluster.ConflictError{Err: errors.New("another test runs"), Remedy: "wait for it"})
	m.Run("net", "test").Has(t, exit.Conflict, "mullion: another test runs", "→ wait for it")
	m.Env.Euid = 1000
	m.Run("net", "test").Has(t, exit.Requirement, "mullion: this needs root, as it makes network namespaces and loads images: sudo BIN/mullion --data-dir DATA net test")
}

func TestNetFlowsRefusals(t *testing.T) {
	m := newMachine(t)
	for args, want := range map[string][2]string{
		"-o json":                     {`--output "json"`, "choose text or markdown"},
		"--mode l3":                   {`--mode "l3"`, "choose one of " + strings.Join(modeNames(), ", ")},
		"--profile mild":              {`--profile "mild"`, "choose one of " + strings.Join(profileNames(), ", ")},
		"--dual-stack --mode overlay": {"--dual-stack with --mode overlay", "choose --mode l2bridge: no other mode has both families"},
	} {
		m.Run(append([]string{"net", "flows"}, strings.Fields(args)...)...).Refused(t, exit.Usage, want[0], want[1])
	}

	m.Run("net", "flows").Has(t, exit.OK, "FLOW ")
	m.Run("net", "flows", "-o", "markdown").Has(t, exit.OK, "| ")
	one, both := m.Run("net", "flows"), m.Run("net", "flows", "--dual-stack")
	if len(both.Out) <= len(one.Out) {
		t.Errorf("both families have %d bytes of flows, one %d", len(both.Out), len(one.Out))
	}
}
