package progress

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cli/screen"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// Told is progress whose output a test reads.
type told struct {
	*Progress
	clock *clock
	out   *strings.Builder
	begun time.Time
}

// reported returns the progress of two Windows nodes, on a terminal of so many columns, or on none.
func reported(f Flags, columns int) told {
	c := &clock{at: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
	var out strings.Builder
	var size func() screen.Size
	if columns > 0 {
		size = func() screen.Size { return screen.Size{Columns: columns, Rows: 24} }
	}

	r := newProgress(f, screen.New(&out, size, false), c.now)
	if f.JSON() {
		r.events, r.screen = &events{out: &out, now: c.now}, screen.New(&strings.Builder{}, nil, false)
	}

	r.version = "v1.37.1"
	for i := range 2 {
		r.nodes = append(r.nodes, Node{
			Name: fmt.Sprintf("win-%d", i+1), Product: "Windows Server 2025", Address: fmt.Sprintf("10.213.0.1%d", i+2),
		})
	}

	r.Watch()
	return told{
		Progress: r,
		clock:    c,
		out:      &out,
		begun:    c.at,
	}
}

// after tells of units so long after the beginning.
func (t told) after(elapsed time.Duration, units ...supervisor.UnitStatus) {
	t.clock.at = t.begun.Add(elapsed)
	t.Told(cluster.Progress{Elapsed: elapsed, Units: units})
}

// printed returns what was printed since the last call.
func (t told) printed() string {
	text := t.out.String()
	t.out.Reset()
	return text
}

func unit(name string, state component.State, after ...string) supervisor.UnitStatus {
	id, err := component.ParseID(name)
	if err != nil {
		panic(err)
	}

	return supervisor.UnitStatus{
		ID:      id,
		State:   state,
		Seconds: 1.25,
		After:   component.Soles(after...),
	}
}

// stages returns a small cluster on its way.
func stages() [][]supervisor.UnitStatus {
	cluster := func(states ...component.State) []supervisor.UnitStatus {
		return []supervisor.UnitStatus{
			unit("wine", states[0]),
			unit("etcd", states[1]),
			unit("kube-apiserver", states[2], "etcd"),
			unit("kubelet/win-1", states[3], "wine", "kube-apiserver"),
			unit("kubelet/win-2", states[4], "wine", "kube-apiserver"),
			unit("coredns", states[5], "kube-apiserver"),
		}
	}

	const waiting, starting, ready = component.Waiting, component.Starting, component.Ready
	return [][]supervisor.UnitStatus{
		cluster(starting, starting, waiting, waiting, waiting, waiting),
		cluster(starting, ready, ready, waiting, waiting, starting),
		cluster(ready, ready, ready, ready, starting, ready),
		cluster(ready, ready, ready, ready, ready, ready),
	}
}

// TestProgressWithoutATerminal has a line for each group when it is done, and one that says what is waited for after 30
// seconds without one.
func TestProgressWithoutATerminal(t *testing.T) {
	r := reported(Flags{}, 0)
	s := stages()
	r.after(time.Second, s[0]...)
	r.after(2*time.Second, s[1]...)
	r.after(31*time.Second, s[1]...)
	r.after(32*time.Second, s[1]...)
	r.clock.at = r.begun.Add(62 * time.Second)
	r.tick() // nobody tells of anything
	r.after(63*time.Second, s[2]...)
	r.after(64*time.Second, s[3]...)
	r.Settle()
	r.Close()

	const want = `ok   control plane    2.5s  Kubernetes v1.37.1
…    after 32s, waiting for wine (31s), coredns (30s)
…    after 62s, waiting for wine (61s), coredns (60s)
ok   machine          1.2s  wine
ok   win-1            3.8s  Windows Server 2025, 10.213.0.12
ok   addons           3.8s  coredns
ok   win-2            3.8s  Windows Server 2025, 10.213.0.13
`

	if diff := cmp.Diff(want, r.printed()); diff != "" {
		t.Error(diff)
	}

	r.clock.at = r.begun.Add(time.Hour) // a cluster that is up, with --foreground
	r.tick()
	if got := r.printed(); got != "" {
		t.Errorf("of a cluster that is up: %q", got)
	}
}

// TestProgressOnATerminal draws a row for each group, and leaves the last picture.
func TestProgressOnATerminal(t *testing.T) {
	r := reported(Flags{}, 80)
	s := stages()
	r.after(time.Second, s[0]...)
	const first = `…    machine          1.0s  0 of 1  wine (makes Windows' folder once)
…    control plane    1.0s  0 of 2  etcd
·    win-1                  0 of 1  waits for wine, kube-apiserver
·    win-2                  0 of 1  waits for wine, kube-apiserver
·    addons                 0 of 1  waits for kube-apiserver
`

	if diff := cmp.Diff(first, r.printed()); diff != "" {
		t.Error(diff)
	}

	r.after(20*time.Second, s[1]...)
	const up = "\x1b[5A\r\x1b[J"
	if got := r.printed(); !strings.HasPrefix(got, up+"…    machine         20.0s  0 of 1  wine (makes Windows' folder once) (19s)\nok   control plane    2.5s  Kub") {
		t.Errorf("drawn again: %q", got)
	}

	r.after(21*time.Second, s[3]...)
	r.printed()
	r.Settle()
	const last = up + up + `ok   machine          1.2s  wine
ok   control plane    2.5s  Kubernetes v1.37.1
ok   win-1            3.8s  Windows Server 2025, 10.213.0.12
ok   win-2            3.8s  Windows Server 2025, 10.213.0.13
ok   addons           3.8s  coredns
`

	if diff := cmp.Diff(last, up+r.printed()); diff != "" {
		t.Error(diff)
	}

	r.Close()
	if got := r.printed(); got != "" {
		t.Errorf("at its end: %q", got)
	}
}

// TestProgressOfManyNodes holds that the block has at most twelve rows, and says of all nodes where they are.
func TestProgressOfManyNodes(t *testing.T) {
	r := reported(Flags{}, 80)
	var units []supervisor.UnitStatus
	for i := range 30 {
		state := []component.State{component.Ready, component.Starting, component.Waiting}[i%3]
		units = append(units, unit(fmt.Sprintf("kubelet/win-%d", i+1), state))
	}

	r.after(time.Second, units...)
	rows := strings.Split(strings.TrimSuffix(r.printed(), "\n"), "\n")
	if len(rows) != mostRows {
		t.Errorf("%d rows:\n%s", len(rows), strings.Join(rows, "\n"))
	}

	all := strings.Join(rows, "\n")
	for _, want := range []string{"…    win-2 ", "10 ready", "10 more"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in:\n%s", want, all)
		}
	}

	for _, row := range rows {
		if n := screen.Width(row); n > 79 {
			t.Errorf("%d columns: %s", n, row)
		}
	}

	r.Settle()
	if got := strings.Count(r.printed(), "win-"); got != 30 {
		t.Errorf("the last picture has %d names of nodes", got)
	}
}

// TestProgressOfAFailure: what failed stays to be seen when it is stopped, on one line whatever it said.
func TestProgressOfAFailure(t *testing.T) {
	for _, columns := range []int{0, 70} {
		r := reported(Flags{}, columns)
		bad := unit("kubelet/win-1", component.Failed)
		bad.Error = "exit status 1: \x1b[2J\nok   win-1 is fine"
		r.after(time.Second, bad, unit("kubelet/win-2", component.Starting))
		cancelled := unit("kubelet/win-2", component.Failed)
		cancelled.Error, cancelled.Reason = "start it: context canceled", component.Cancelled // because of the other one
		r.after(2*time.Second, unit("kubelet/win-1", component.Stopped), cancelled)
		r.after(3*time.Second, unit("kubelet/win-1", component.Stopped), unit("kubelet/win-2", component.Stopped))
		r.Close()

		got := r.printed()
		if !strings.Contains(got, "FAIL win-1            1.0s  kubelet: exit status 1: ·[2J\n") ||
			strings.Contains(got, "\x1b[2J") || strings.Contains(got, "fine") || strings.Contains(got, "FAIL win-2") {
			t.Errorf("%d columns: %q", columns, got)
		}
		if stopped := "·    win-2                  0 of 1  stopped\n"; strings.HasSuffix(got, stopped) != (columns > 0) {
			t.Errorf("%d columns: of the other node: %q", columns, got)
		}
	}
}

// TestVerboseProgress has a line for each part.
func TestVerboseProgress(t *testing.T) {
	for columns, busy := range map[int]string{0: "", 80: "…    2s wine, coredns\n"} {
		r := reported(Flags{Verbose: true}, columns)
		s := stages()
		r.after(2*time.Second, s[1]...)
		line := func(name string) string { return fmt.Sprintf("ok   %-44s     1.2s\n", name) }
		if diff := cmp.Diff(line("etcd")+line("kube-apiserver")+busy, r.printed()); diff != "" {
			t.Errorf("%d columns: %s", columns, diff)
		}
	}
}

// TestEvents are lines of JSON, each with what a program needs.
func TestEvents(t *testing.T) {
	r := reported(Flags{format: "json"}, 0)
	s := stages()
	r.Begin("bundle")("Kubernetes v1.37.1", nil)
	r.after(2*time.Second, s[1]...)
	r.after(40*time.Second, s[1]...)
	r.after(41*time.Second, s[2]...)
	r.Emit(Event{Type: typeCluster, Seconds: 41, Cluster: &Cluster{
		Name: "mullion", KubernetesVersion: "v1.37.1", Nodes: r.nodes, Context: "mullion",
	}})

	var got []string
	for line := range strings.Lines(r.printed()) {
		var e struct {
			Time                             time.Time
			Type, Unit, Node, State, Message string
			Seconds                          float64
			Name                             string
			Nodes                            []Node
		}

		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Time.Before(r.begun) || e.Time.After(r.clock.at) {
			t.Errorf("at %s: %s", e.Time, line)
		}

		words := []string{e.Type, e.Unit, e.Node, e.State, e.Message, e.Name}
		got = append(got, strings.TrimSpace(strings.Join(words, " ")))
		if e.Type == typeCluster && (len(e.Nodes) != 2 || e.Nodes[0].Address != "10.213.0.12") {
			t.Errorf("nodes %+v", e.Nodes)
		}
	}

	want := []string{
		"step bundle  starting",
		"step bundle  ready Kubernetes v1.37.1",
		"unit wine  starting",
		"unit etcd  ready",
		"unit kube-apiserver  ready",
		"unit coredns  starting",
		"waiting    wine (38s), coredns (38s)",
		"unit wine  ready",
		"unit kubelet/win-1 win-1 ready",
		"unit kubelet/win-2 win-2 starting",
		"unit coredns  ready",
		"cluster     mullion",
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSilentStep holds that a step of the command itself is told of too.
func TestSilentStep(t *testing.T) {
	r := reported(Flags{}, 0)
	r.Settle()
	end := r.Begin("sample")
	r.clock.at = r.begun.Add(30 * time.Second)
	r.tick()
	r.clock.at = r.begun.Add(31 * time.Second)
	end("served", nil)
	const want = "…    after 30s, waiting for sample\nok   sample          31.0s  served\n"
	if diff := cmp.Diff(want, r.printed()); diff != "" {
		t.Error(diff)
	}
}
