package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// seenAt is when the pictures of these tests were made.
var seenAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// seen returns a cluster of one Linux node of which all works, unless change says otherwise.
func seen(c spec.Cluster, change func(*health.Observed)) health.Observed {
	c.Nodes = []spec.Node{{Name: "linux-1", OS: spec.Linux}}
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	o := health.Observed{
		At:   seenAt,
		Spec: c,
		Supervisor: &supervisor.Status{PID: 10, Phase: supervisor.PhaseReady, Units: []supervisor.UnitStatus{
			{ID: component.Sole("kube-apiserver"), State: component.Ready, PID: 11, Probed: true},
			{ID: component.OfNode("host", "linux-1"), State: component.Ready},
			{ID: component.OfNode("kubelet", "linux-1"), State: component.Ready, PID: 12, Probed: true},
		}},
		Nodes: []corev1.Node{{
			ObjectMeta: metav1.ObjectMeta{Name: "linux-1"},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}},
		}},
	}

	if change != nil {
		change(&o)
	}

	return o
}

// observing has the machine seen as change says.
func (m *machine) observing(change func(*health.Observed)) {
	m.calls.Observe = func(_ context.Context, _ layout.Paths, c spec.Cluster) health.Observed {
		return seen(c, change)
	}
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
			code: ExitNotReady,
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
			code:   ExitNotReady,
			out:    "Cluster mullion: stopping\n" + parts + nodes + pods,
			err:    "mullion: cluster \"mullion\" is stopping\n→ `mullion up` waits until it is ready\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.describe(nil)
			m.observing(tt.change)
			m.run("status").check(t, tt.code, tt.out, tt.err)
		})
	}
}

func TestStatusOfProblems(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.observing(func(o *health.Observed) {
		o.Supervisor.Units[0].Problem = "it answers 500"
		o.Supervisor.Units[2].State = supervisor.Restarting
	})

	got := m.run("status")
	got.has(t, ExitNotReady, "Cluster mullion: unhealthy", "What is wrong:",
		"mullion: cluster \"mullion\" is not healthy: 2 problem(s)",
		"→ the picture above names each problem and what to do about it")
	if !strings.Contains(got.out, "it answers 500") {
		t.Errorf("the cause is not told:\n%s", got.out)
	}
}

func TestStatusWhileItStarts(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.observing(func(o *health.Observed) {
		o.Supervisor.Phase = supervisor.PhaseStarting
		o.Supervisor.Units[2].State, o.Supervisor.Units[2].PID = component.Starting, 0
	})
	m.run("status").has(t, ExitNotReady, "Cluster mullion: starting",
		"mullion: cluster \"mullion\" is starting", "→ `mullion up` waits until it is ready")
}

// TestStatusForPrograms holds that JSON and YAML say the same, with the names that scripts use.
func TestStatusForPrograms(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.observing(nil)
	asJSON := m.run("status", "-o", "json")
	asYAML := m.run("status", "-o", "yaml")
	if asJSON.code != ExitOK || asYAML.code != ExitOK || asJSON.err != "" {
		t.Fatalf("codes %d and %d, said %s", asJSON.code, asYAML.code, asJSON.err)
	}

	var fromJSON, fromYAML map[string]any
	if err := json.Unmarshal([]byte(asJSON.out), &fromJSON); err != nil {
		t.Fatal(err)
	}

	text, ok := strings.CutPrefix(asYAML.out, "---\n")
	if !ok {
		t.Errorf("YAML does not begin a document: %.20q", asYAML.out)
	}
	if err := yaml.Unmarshal([]byte(text), &fromYAML); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
		t.Errorf("YAML says other things than JSON:\n%s", diff)
	}
	for _, name := range []string{"health", "cluster", "cgroupParent", "supervisor"} {
		if fromJSON[name] == nil {
			t.Errorf("no %q in %s", name, asJSON.out)
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
			m.describe(nil)
			m.env.Terminal = tt.terminal
			m.calls.watchEvery = time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			looks := 0
			m.calls.Observe = func(_ context.Context, _ layout.Paths, c spec.Cluster) health.Observed {
				looks++
				if looks == 3 {
					cancel() // what is seen while it ends is not printed
				}
				return seen(c, func(o *health.Observed) {
					if looks == 1 {
						o.Supervisor.Phase = supervisor.PhaseStopping
					}
				})
			}

			got := m.runIn(ctx, "status", "--watch")
			got.has(t, ExitOK, tt.clear+"Cluster mullion: stopping", tt.clear+"Cluster mullion: healthy",
				"12:00:00")
			if n := strings.Count(got.out, "Cluster mullion:"); n != 2 || got.err != "" {
				t.Errorf("%d pictures, and said %q; want 2 and nothing", n, got.err)
			}
		})
	}
}

func TestWatchForPrograms(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.env.Terminal = true
	m.calls.watchEvery = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	m.calls.Observe = func(_ context.Context, _ layout.Paths, c spec.Cluster) health.Observed {
		if looks++; looks == 3 {
			cancel()
		}
		return seen(c, nil)
	}

	got := m.runIn(ctx, "status", "-w", "-o", "json")
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one a picture:\n%s", len(lines), got.out)
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
		{"status"}, {"status", "-o", "json"}, {"status", "-o", "yaml"}, {"status", "--watch"}, {"version"},
	} {
		m := newMachine(t)
		m.describe(nil)
		m.observing(nil)
		m.calls.watchEvery = time.Hour
		m.env.Args = args
		m.env.Out = broken{syscall.EPIPE}
		m.env.Err = &strings.Builder{}
		err := (&app{env: m.env, calls: m.calls}).run(t.Context())
		if !errors.Is(err, syscall.EPIPE) || ExitCode(err) != ExitInternal {
			t.Errorf("%v: %v, code %d", args, err, ExitCode(err))
		}
	}
}
