package health_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// planned returns the units of a real cluster with what each waits for, as `mullion up --dry-run` prints them. All of
// them work.
func planned(t *testing.T) health.Observed {
	t.Helper()
	text, err := os.ReadFile("../../../test/script/testdata/dry-run.txtar")
	if err != nil {
		t.Fatal(err)
	}

	_, plan, _ := strings.Cut(string(text), "\n-- two --\n")
	plan, _, _ = strings.Cut(plan, "\n-- ")
	_, parts, _ := strings.Cut(plan, "parts, in the order they start:\n")
	line := regexp.MustCompile(`(?m)^  (\S+)(?: \(after (.*)\))?$`)
	o := health.Observed{
		At:         at,
		Spec:       spec.Default([]string{"ltsc2022"}, false, ""),
		Supervisor: &supervisor.Status{Phase: supervisor.PhaseReady},
	}

	for _, m := range line.FindAllStringSubmatch(parts, -1) {
		u := supervisor.UnitStatus{ID: id(m[1]), State: component.Ready}
		if m[2] != "" {
			u.After = ids(strings.Split(m[2], ", ")...)
		}
		o.Supervisor.Units = append(o.Supervisor.Units, u)
	}

	if len(o.Supervisor.Units) < 20 {
		t.Fatalf("the plan has only the units %+v", o.Supervisor.Units)
	}
	return o
}

// parts returns the objects of the findings about the units of o.
func parts(o health.Observed) []string {
	var found []string
	for _, f := range health.Judge(o).Findings {
		for _, u := range o.Supervisor.Units {
			if f.Object == u.ID.String() {
				found = append(found, f.Object)
			}
		}
	}
	return found
}

func TestCauses(t *testing.T) {
	const problem = "connection refused"
	for _, tt := range []struct {
		name   string
		failed []string // parts whose process has ended
		silent []string // parts that do not answer
		want   []string
	}{
		{
			name:   "one-part",
			silent: []string{"metrics-server"},
			want:   []string{"metrics-server"},
		},
		{
			name:   "metrics-server-and-api-server",
			silent: []string{"kube-apiserver", "metrics-server"},
			want:   []string{"kube-apiserver"},
		},
		{
			name:   "metrics-server-and-forwarder",
			failed: []string{"api-forwarder"},
			silent: []string{"metrics-server", "local-storage", "load-balancer"},
			want:   []string{"api-forwarder"},
		},
		{
			name:   "wine-and-windows-hosts",
			failed: []string{"wine"},
			silent: []string{"host/win-1", "agent/win-1", "host/win-2"},
			want:   []string{"wine"},
		},
		{
			name:   "network-of-a-windows-node",
			silent: []string{"network/win-1", "agent/win-1", "agent/win-2"},
			want:   []string{"network/win-1", "agent/win-2"},
		},
		{
			name:   "network-of-a-linux-node",
			silent: []string{"network/linux-1", "containerd/linux-1", "kubelet/linux-1", "kube-proxy/linux-1"},
			want:   []string{"network/linux-1"},
		},
		{
			name:   "engine-with-working-parts-between",
			failed: []string{"containerd"},
			silent: []string{"agent/win-1", "kubelet/win-1", "agent/win-2"},
			want:   []string{"containerd"},
		},
		{
			name:   "independent-parts",
			silent: []string{"coredns", "kube-scheduler", "agent/win-1", "kubelet/linux-1"},
			want:   []string{"kube-scheduler", "coredns", "agent/win-1", "kubelet/linux-1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := planned(t)
			for _, name := range tt.failed {
				unit(&o, name).State = component.Failed
			}

			for _, name := range tt.silent {
				unit(&o, name).Problem = problem
			}

			if diff := cmp.Diff(tt.want, parts(o)); diff != "" {
				t.Errorf("findings, -want +got:\n%s", diff)
			}
		})
	}
}

// TestWaitingParts holds that there is no finding for a part that only waits for a failed one.
func TestWaitingParts(t *testing.T) {
	o := planned(t)
	unit(&o, "prefix/win-1").State = component.Failed
	for _, name := range []string{"host/win-1", "agent/win-1", "kubelet/win-1", "kube-proxy/win-1"} {
		unit(&o, name).State = component.Waiting
	}
	if diff := cmp.Diff([]string{"prefix/win-1"}, parts(o)); diff != "" {
		t.Errorf("findings, -want +got:\n%s", diff)
	}
}

// TestSwitchedOff holds that a node whose host was switched off has one finding, and not one for each of its parts.
func TestSwitchedOff(t *testing.T) {
	for node, units := range map[string][]string{
		"win-1":   {"prefix", "host", "agent", "kubelet", "registered", "kube-proxy", "node"},
		"linux-1": {"host", "containerd", "kubelet", "registered", "kube-proxy", "node"},
	} {
		o := planned(t)
		for _, name := range units {
			unit(&o, name+"/"+node).State = component.Stopped
		}

		if found := parts(o); len(found) > 0 {
			t.Errorf("%s: findings for the parts %v", node, found)
		}
		want := health.Finding{
			Severity: health.Problem,
			Object:   "node " + node,
			What:     "it is switched off",
			Do:       "`mullion node start " + node + "` switches it on",
		}

		if all := health.Judge(o).Findings; !slices.Contains(all, want) {
			t.Errorf("%s: the findings are %+v, want %+v among them", node, all, want)
		}
	}
}

// TestOlderSupervisor holds that every part that does not work has a finding if the supervisor does not say which part
// waits for which.
func TestOlderSupervisor(t *testing.T) {
	o := planned(t)
	for i := range o.Supervisor.Units {
		o.Supervisor.Units[i].After = nil
	}
	unit(&o, "etcd").State = supervisor.Restarting
	unit(&o, "kube-apiserver").Problem = "etcd failed"
	if diff := cmp.Diff([]string{"etcd", "kube-apiserver"}, parts(o)); diff != "" {
		t.Errorf("findings, -want +got:\n%s", diff)
	}
}

// TestCircle holds that the walk ends, whatever the supervisor says.
func TestCircle(t *testing.T) {
	o := planned(t)
	unit(&o, "etcd").After = ids("kube-apiserver", "no-such-unit")
	unit(&o, "etcd").Problem = "no room"
	if diff := cmp.Diff([]string{"etcd"}, parts(o)); diff != "" {
		t.Errorf("findings, -want +got:\n%s", diff)
	}
}
