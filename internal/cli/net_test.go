package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/agnhost"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/nettest"
	"mullion.dev/mullion/internal/spec"
)

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
	m.calls.netTest = func(_ context.Context, _ layout.Paths, c nettest.Config) (nettest.Report, error) {
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
			code:    ExitDifferent,
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
			m.describe(withoutNodes)
			m.env.Terminal = tt.terminal
			m.reporting(nil, tt.results...)
			m.run("net", "test").check(t, tt.code, tt.out, tt.say)
		})
	}
}

// TestNetTestForPrograms holds that a difference is known by the exit code too, and that nothing else is printed.
func TestNetTestForPrograms(t *testing.T) {
	m := newMachine(t)
	m.describe(withoutNodes)
	m.reporting(nil, flow("a", nettest.Different))
	got := m.run("net", "test", "-o", "json")
	var report nettest.Report
	if err := json.Unmarshal([]byte(got.out), &report); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]nettest.Result{flow("a", nettest.Different)}, report.Results); diff != "" {
		t.Error(diff)
	}

	if got.code != ExitDifferent || got.err != "" {
		t.Errorf("exit code %d, said %q", got.code, got.err)
	}
}

func TestNetTestIsAskedWhatTheFlagsSay(t *testing.T) {
	m := newMachine(t)
	m.describe(withoutNodes)
	m.calls.netTest = func(ctx context.Context, paths layout.Paths, c nettest.Config) (nettest.Report, error) {
		deadline, _ := ctx.Deadline()
		if left := time.Until(deadline); left > time.Minute || left < 50*time.Second {
			t.Errorf("%s left, want a minute", left)
		}
		if paths != m.paths || !c.Only.MatchString("ClusterIP, TCP") || c.Only.MatchString("ping") {
			t.Errorf("only %v in %v", c.Only, paths)
		}
		return nettest.Report{}, nil
	}
	m.run("net", "test", "--flows", "ClusterIP|NodePort", "--timeout", "1m", "--mode", "l2bridge").has(t, ExitOK)
}

func TestNetTestRefusals(t *testing.T) {
	m := newMachine(t)
	m.reporting(nil)
	const none = `no cluster in "DATA"`
	m.run("net", "test").refused(t, ExitNotFound, none,
		"bring one up with `mullion up`, or name its folder with --data-dir")
	m.run("net", "test", "-o", "yaml").refused(t, ExitUsage, `--output "yaml"`, "choose text or json")
	m.run("net", "test", "--flows", "(").has(t, ExitUsage, "mullion: --flows: error parsing regexp",
		"→ give a regular expression, as --flows 'ClusterIP|NodePort'")
	m.describe(withoutNodes)
	m.run("net", "test", "--mode", "overlay").refused(t, ExitUsage,
		`cluster "mullion" has network mode l2bridge, not overlay`,
		"bring up a cluster whose cluster.yaml says so (networking.mode)")

	m.reporting(fmt.Errorf("choose flows: %w", nettest.ErrNoFlow))
	m.run("net", "test").has(t, ExitUsage, "mullion: choose flows: "+nettest.ErrNoFlow.Error(),
		"→ `mullion net flows` lists the names")
	m.reporting(fmt.Errorf("wait for pods: %w", context.DeadlineExceeded))
	m.run("net", "test").has(t, ExitNotReady, "mullion: wait for pods: ", "→ see `mullion status` and DATA/logs")
	m.reporting(&cluster.ConflictError{Err: errors.New("another test runs"), Remedy: "wait for it"})
	m.run("net", "test").has(t, ExitConflict, "mullion: another test runs", "→ wait for it")
	m.env.Euid = 1000
	m.run("net", "test").has(t, ExitRequirement, "mullion: this needs root, as it makes network namespaces and loads images: sudo BIN/mullion --data-dir DATA net test")
}

func TestNetFlowsRefusals(t *testing.T) {
	m := newMachine(t)
	for args, want := range map[string][2]string{
		"-o json":                     {`--output "json"`, "choose text or markdown"},
		"--mode l3":                   {`--mode "l3"`, "choose one of " + strings.Join(modeNames(), ", ")},
		"--profile mild":              {`--profile "mild"`, "choose one of " + strings.Join(profileNames(), ", ")},
		"--dual-stack --mode overlay": {"--dual-stack with --mode overlay", "choose --mode l2bridge: no other mode has both families"},
	} {
		m.run(append([]string{"net", "flows"}, strings.Fields(args)...)...).refused(t, ExitUsage, want[0], want[1])
	}

	m.run("net", "flows").has(t, ExitOK, "FLOW ")
	m.run("net", "flows", "-o", "markdown").has(t, ExitOK, "| ")
	one, both := m.run("net", "flows"), m.run("net", "flows", "--dual-stack")
	if len(both.out) <= len(one.out) {
		t.Errorf("both families have %d bytes of flows, one %d", len(both.out), len(one.out))
	}
}

// TestTestPodsImageIsNotBuilt maps what the images say to what a person is told.
func TestTestPodsImageIsNotBuilt(t *testing.T) {
	cause := errors.New("stat bin/linux/agnhost: no such file or directory")
	err := notBuilt(errors.Join(&agnhost.NotBuiltError{Err: cause}))
	var own *Error
	if !errors.As(err, &own) || own.Code != ExitNotFound || own.Remedy != "`make agnhost` builds agnhost" ||
		err.Error() != "build the test pods' image: "+cause.Error() {
		t.Errorf("%#v", err)
	}

	if got := notBuilt(cause); !errors.Is(got, cause) || ExitCode(got) != ExitInternal {
		t.Errorf("another error became %#v", got)
	}
	if err := notBuilt(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
