package status

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// machine is one with this command.
type machine struct {
	*clitest.Machine

	every time.Duration
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Machine: clitest.New(t)}
	m.Commands = func(r *reader.Reader) []*cobra.Command { return []*cobra.Command{New(r, m.every)} }
	return m
}

func TestStatusOfEachState(t *testing.T) {
	const pods = "\nPods: none\nNetwork policies: carried out by Mullion\n"
	nodes := "\nNODE     READY  PODS  NETWORK  HOST  RUNTIME  HNS  KUBELET  KUBE-PROXY  ADDRESS  SYSTEM\n" +
		"linux-1  yes    0/0   -        ok    -        -    ok       -           -\n"

	parts := "\nPART            STATE  PID  RESTARTS  WHY\nkube-apiserver  ok     11   0\n"
	for _, tt := range []struct {
		name     string
		change   func(*health.Observed)
		code     int
		out, err string
	}{
		{
			name: "healthy",
			out:  "Cluster mullion: healthy\n" + parts + nodes + pods,
		},
		{
			name: "down",
			change: func(o *health.Observed) {
				o.Supervisor = nil
				o.SupervisorError = "connect: no such file or directory"
				o.APIError = "refused"
			},
			code: exit.NotReady,
			out: "Cluster mullion: down\n\nWhat is wrong:\n" +
				"  cluster: it is not up: connect: no such file or directory\n" +
				"    → `mullion up` brings it back, `mullion down` removes it\n",
			err: "mullion: cluster \"mullion\" is described in \"DATA\", but it is not up: " +
				"connect: no such file or directory\n" +
				"→ `mullion up` brings it back, `mullion down` removes it\n",
		},
		{
			name:   "stopping",
			change: func(o *health.Observed) { o.Supervisor.Phase = supervisor.PhaseStopping },
			code:   exit.NotReady,
			out:    "Cluster mullion: stopping\n" + parts + nodes + pods,
			err:    "mullion: cluster \"mullion\" is stopping\n→ `mullion up` waits until it is ready\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.Describe(nil)
			m.Observing(tt.change)
			m.Run("status").Check(t, tt.code, tt.out, tt.err)
		})
	}
}

func TestStatusOfProblems(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Observing(func(o *health.Observed) {
		o.Supervisor.Units[0].Problem = "it answers 500"
		o.Supervisor.Units[2].State = supervisor.Restarting
	})

	got := m.Run("status")
	got.Has(t, exit.NotReady, "Cluster mullion: unhealthy", "What is wrong:",
		"mullion: cluster \"mullion\" is not healthy: 2 problem(s)",
		"→ the picture above names each problem and what to do about it")
	if !strings.Contains(got.Out, "it answers 500") {
		t.Errorf("the cause is not told:\n%s", got.Out)
	}
}

func TestStatusWhileItStarts(t *testing.T) {
	testrun.Once(t, testrun.Race)
	m := newMachine(t)
	m.Describe(nil)
	m.Observing(func(o *health.Observed) {
		o.Supervisor.Phase = supervisor.PhaseStarting
		o.Supervisor.Units[2].State, o.Supervisor.Units[2].PID = component.Starting, 0
	})
	m.Run("status").Has(t, exit.NotReady, "Cluster mullion: starting",
		"mullion: cluster \"mullion\" is starting", "→ `mullion up` waits until it is ready")
}

// TestStatusForPrograms holds that JSON and YAML say the same, with the names that scripts use.
func TestStatusForPrograms(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Observing(nil)
	asJSON := m.Run("status", "-o", "json")
	asYAML := m.Run("status", "-o", "yaml")
	if asJSON.Code != exit.OK || asYAML.Code != exit.OK || asJSON.Err != "" {
		t.Fatalf("codes %d and %d, said %s", asJSON.Code, asYAML.Code, asJSON.Err)
	}

	var fromJSON, fromYAML map[string]any
	if err := json.Unmarshal([]byte(asJSON.Out), &fromJSON); err != nil {
		t.Fatal(err)
	}

	text, ok := strings.CutPrefix(asYAML.Out, "---\n")
	if !ok {
		t.Errorf("YAML does not begin a document: %.20q", asYAML.Out)
	}
	if err := yaml.Unmarshal([]byte(text), &fromYAML); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
		t.Errorf("YAML says other things than JSON:\n%s", diff)
	}
	for _, name := range []string{"health", "cluster", "cgroupParent", "supervisor"} {
		if fromJSON[name] == nil {
			t.Errorf("no %q in %s", name, asJSON.Out)
		}
	}

	picture, ok := fromJSON["health"].(map[string]any)
	if !ok || picture["state"] != "healthy" || picture["name"] != "mullion" {
		t.Errorf("health says %v", picture)
	}
}

// TestWatch looks three times, each time at another state, and ends with Ctrl-C without an error.
func TestWatch(t *testing.T) {
	for _, tt := range []struct {
		name     string
		terminal bool
		clear    string
	}{{"in-a-pipe", false, ""}, {"on-a-terminal", true, "\033[H\033[2J"}} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.Describe(nil)
			m.Env.Terminal = tt.terminal
			m.every = time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			looks := 0
			m.Sources.Observe = func(_ context.Context, _ layout.Paths, c spec.Cluster) health.Observed {
				looks++
				if looks == 3 {
					cancel() // what is seen while it ends is not printed
				}
				return clitest.Seen(c, func(o *health.Observed) {
					if looks == 1 {
						o.Supervisor.Phase = supervisor.PhaseStopping
					}
				})
			}

			got := m.RunIn(ctx, "status", "--watch")
			got.Has(t, exit.OK, tt.clear+"Cluster mullion: stopping", tt.clear+"Cluster mullion: healthy",
				"12:00:00")
			if n := strings.Count(got.Out, "Cluster mullion:"); n != 2 || got.Err != "" {
				t.Errorf("%d pictures, and said %q; want 2 and nothing", n, got.Err)
			}
		})
	}
}

func TestWatchForPrograms(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Env.Terminal = true
	m.every = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	m.Sources.Observe = func(_ context.Context, _ layout.Paths, c spec.Cluster) health.Observed {
		if looks++; looks == 3 {
			cancel()
		}
		return clitest.Seen(c, nil)
	}

	got := m.RunIn(ctx, "status", "-w", "-o", "json")
	lines := strings.Split(strings.TrimSuffix(got.Out, "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one a picture:\n%s", len(lines), got.Out)
	}

	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line is no JSON: %q", line)
		}
	}
}

// broken fails as a full disk or a closed pipe does.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// TestOutputThatBreaks holds that a picture that could not be written is no picture of a healthy cluster.
func TestOutputThatBreaks(t *testing.T) {
	for _, args := range [][]string{
		{"status"}, {"status", "-o", "json"}, {"status", "-o", "yaml"}, {"status", "--watch"},
	} {
		m := newMachine(t)
		m.Describe(nil)
		m.Observing(nil)
		m.every = time.Hour
		m.Env.Args = args
		m.Env.Out = broken{syscall.EPIPE}
		m.Env.Err = &strings.Builder{}
		err := m.Execute(t.Context(), m.Env)
		if !errors.Is(err, syscall.EPIPE) || exit.Code(err) != exit.Internal {
			t.Errorf("%v: %v, code %d", args, err, exit.Code(err))
		}
	}
}

func TestReaderStatus(t *testing.T) {
	m := newMachine(t)
	p := health.Picture{Name: "mullion", State: health.Unhealthy, Findings: []health.Finding{
		{Severity: health.Problem, Object: "node win-1", What: "it is down", Do: "look"},
	}}
	m.ReadBy(clitest.Answers{"status": clitest.JSON(view.Status{Health: p, CgroupParent: "/mullion-x"})})
	m.Run("status").Has(t, exit.NotReady, "Cluster mullion: unhealthy",
		`mullion: cluster "mullion" is not healthy: 1 problem(s)`)
	if got := m.Run("status", "-o", "json"); !strings.Contains(got.Out, `"cgroupParent":"/mullion-x"`) {
		t.Errorf("as JSON: %s", got.Out)
	}

	m.ReadBy(clitest.Answers{"status": clitest.Refuses(view.Stranger, "user 7 is a stranger")})
	m.Env.Args = nil
	m.Run("--data-dir", m.Paths.Data, "status").Refused(t, exit.Requirement,
		"read the cluster in DATA: user 7 is a stranger: sudo BIN/mullion --data-dir DATA status", "")
}

// TestPictureCrossesTheSocket: what a reader is shown of a cluster is what root is shown.
func TestPictureCrossesTheSocket(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Sources.Observe = func(_ context.Context, paths layout.Paths, c spec.Cluster) health.Observed {
		return health.Observed{
			Spec:            c,
			Data:            paths.Data,
			SupervisorError: "it is gone",
			APIError:        "refused",
		}
	}

	_, look, err := m.Reader(m.Env).Looker()
	if err != nil {
		t.Fatal(err)
	}

	told, err := look(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	for _, output := range []string{"text", "json", "yaml"} {
		m.Env.Euid = 0
		want := m.Run("status", "-o", output)
		m.ReadBy(clitest.Answers{"status": clitest.JSON(told)})
		if diff := cmp.Diff(want, m.Run("status", "-o", output)); diff != "" {
			t.Errorf("%s (-root +reader):\n%s", output, diff)
		}
	}
}

// TestStateThatIsNotTheUsers needs a folder that the user may not read, which root may.
func TestStateThatIsNotTheUsers(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	m := newMachine(t)
	m.Describe(nil)
	if err := os.Chmod(m.Paths.Spec(), 0); err != nil {
		t.Fatal(err)
	}
	m.Run("status").Has(t, exit.Requirement, "→ run it with sudo, or use your own kubeconfig with kubectl")
}
