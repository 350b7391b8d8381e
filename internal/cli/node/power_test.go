package node

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
)

// powerRecord is a switch that remembers what was asked of it.
type powerRecord struct {
	asked      []string
	offErr, on error
}

func (p *powerRecord) Off(_ context.Context, node string) error {
	p.asked = append(p.asked, "off "+node)
	return p.offErr
}

func (p *powerRecord) On(_ context.Context, node string) error {
	p.asked = append(p.asked, "on "+node)
	return p.on
}

func TestNodePower(t *testing.T) {
	for verb, want := range map[string]struct{ asked, said string }{
		"stop":    {"off win-1", "node win-1 is off; `mullion node start win-1` switches it on\n"},
		"start":   {"on win-1", "node win-1 is Ready after N.Ns\n"},
		"restart": {"off win-1, on win-1", "node win-1 is Ready after N.Ns\n"},
	} {
		t.Run(verb, func(t *testing.T) {
			m, p := newMachine(t), &powerRecord{}
			m.calls.Switch = func(layout.Paths) (Switch, error) { return p, nil }
			got := m.Run("node", verb, "win-1")
			got.Out = clitest.Untimed(got.Out)
			got.Check(t, exit.OK, want.said, "")
			if all := strings.Join(p.asked, ", "); all != want.asked {
				t.Errorf("asked for %q, want %q", all, want.asked)
			}
		})
	}
}

func TestNodePowerRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		open, off, on error
		code          int
		what, remedy  string
	}{
		"no-cluster": {
			open: os.ErrNotExist,
			code: exit.NotFound,
			what: `no cluster in "DATA"`, remedy: "bring one up with `mullion up`, or name its folder with --data-dir",
		},
		"not-up": {
			off:  cluster.ErrNotUp,
			code: exit.NotReady,
			what: "the cluster is not up", remedy: "`mullion up` brings it back",
		},
		"no-node": {
			off:  &cluster.NotFoundError{Node: "win-9", Nodes: []string{"win-1"}},
			code: exit.NotFound,
			what: `no node "win-9"; there are win-1`,
		},
		"no-start": {
			on:   &cluster.NodeStartError{Node: "win-1", Err: errors.New("unknown flag")},
			code: exit.NotReady,
			what: "start node win-1: unknown flag", remedy: "`mullion logs kubelet/win-1 --tail 50` may say why; try it again then",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.calls.Switch = func(layout.Paths) (Switch, error) {
				return &powerRecord{offErr: tt.off, on: tt.on}, tt.open
			}
			m.Run("node", "restart", "win-1").Refused(t, tt.code, tt.what, tt.remedy)
		})
	}

	newMachine(t).Run("node", "stop").Refused(t, exit.Usage, "`mullion node stop` takes NODE, got 0 argument(s)",
		"see `mullion node stop --help`")
}
