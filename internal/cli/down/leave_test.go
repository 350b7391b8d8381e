package down

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/cluster/layout"
)

func TestLeave(t *testing.T) {
	refused := fmt.Errorf("node win-1: %w", join.ErrNodesStay)
	away := fmt.Errorf("read the node's certificate: %w", os.ErrNotExist)

	silent := errors.New("dial tcp 192.0.2.10:6443: connection refused")
	for _, tt := range []struct {
		name     string
		err      error
		force    bool
		code     int
		out, say string
		did      []string
	}{
		{
			name: "gone",
			out:  "ok   ended things (stop)\nok   took the nodes out of the cluster\nok   ended things (down)\n",
			did:  []string{"stop", "down"},
		},
		{
			name: "refused",
			err:  refused,
			code: exit.Refused,
			out:  "ok   ended things (stop)\n",
			say: "mullion: " + refused.Error() + "\n→ `mullion leave --kubeconfig FILE` with an administrator's kubeconfig; " +
				"or `mullion leave --force` here, and `kubectl delete node` by an administrator\n",
			did: []string{"stop"},
		},
		{
			name: "after-a-reboot",
			err:  away,
			code: exit.NotReady,
			out:  "ok   ended things (stop)\n",
			say: "mullion: " + away.Error() + "\n→ after a reboot, run `mullion up` first; or `mullion leave --force` here, " +
				"and `kubectl delete node` on the server\n",
			did: []string{"stop"},
		},
		{
			name: "no-answer",
			err:  silent,
			code: exit.NotReady,
			out:  "ok   ended things (stop)\n",
			say: "mullion: " + silent.Error() + "\n→ try again when the server answers; or `mullion leave --force` here, " +
				"and `kubectl delete node` on the server\n",
			did: []string{"stop"},
		},
		{
			name:  "by-force",
			err:   silent,
			force: true,
			out:   "ok   ended things (stop)\nok   ended things (down)\n",
			say:   "mullion: " + silent.Error() + "; going on (--force)\n",
			did:   []string{"stop", "down"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.Describe(clitest.Joined)
			did := m.ended(nil)
			m.calls.Leave = func(_ context.Context, _ layout.Paths, admin kubeclient.Interface) error {
				if admin != nil {
					t.Error("it is an administrator's")
				}
				return tt.err
			}

			m.Run("leave", fmt.Sprintf("--force=%v", tt.force)).Check(t, tt.code, tt.out, tt.say)
			if diff := cmp.Diff(tt.did, *did); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLeaveAsAdministrator(t *testing.T) {
	m := newMachine(t)
	m.Describe(clitest.Joined)
	did := m.ended(nil)
	var as kubeclient.Interface
	m.calls.Leave = func(_ context.Context, _ layout.Paths, admin kubeclient.Interface) error {
		as = admin
		return nil
	}

	m.Run("leave", "--kubeconfig", filepath.Join(m.Paths.Data, "absent")).Has(t, exit.Usage,
		"mullion: --kubeconfig: ", "→ name the kubeconfig of an administrator of the cluster")
	if len(*did) > 0 {
		t.Errorf("and did %q", *did)
	}

	file := filepath.Join(m.Paths.Data, "admin.conf")
	m.Write(file, clitest.Kubeconfig("https://192.0.2.10:6443"))
	if got := m.Run("leave", "--kubeconfig", file); got.Code != exit.OK || as == nil {
		t.Errorf("exit code %d, client %v: %s", got.Code, as, got.Err)
	}
}

// TestLeaveOfACutShortJoin needs no description of a cluster: the claim alone says that a join was under way.
func TestLeaveOfACutShortJoin(t *testing.T) {
	for _, args := range [][]string{{"leave"}, {"down"}} {
		m := newMachine(t)
		m.Write(m.Paths.JoinClaim(), `{"server": "https://192.0.2.10:6443", "part": 1, "holder": "X"}`)
		did := m.ended(nil)
		m.calls.Leave = func(context.Context, layout.Paths, kubeclient.Interface) error { return nil }
		got := m.Run(args...)
		if diff := cmp.Diff([]string{"stop", "down"}, *did); diff != "" || got.Code != exit.OK {
			t.Errorf("%v: exit code %d, %s: %s", args, got.Code, got.Err, diff)
		}
	}
}

// TestDownOfAJoinedMachine goes on where the server does not answer, as leave --force does.
func TestDownOfAJoinedMachine(t *testing.T) {
	m := newMachine(t)
	m.Describe(clitest.Joined)
	did := m.ended(nil)
	m.calls.Leave = func(context.Context, layout.Paths, kubeclient.Interface) error { return errors.New("no answer") }
	m.Run("down").Has(t, exit.OK, "mullion: no answer; going on (--force)", "ok   ended things (down)")
	if diff := cmp.Diff([]string{"stop", "down"}, *did); diff != "" {
		t.Error(diff)
	}
}

// TestEndThatFails holds that nodes stay in the cluster while their processes could not be ended.
func TestEndThatFails(t *testing.T) {
	m := newMachine(t)
	m.Describe(clitest.Joined)
	m.ended(errors.New("a process stays"))
	m.calls.Leave = func(context.Context, layout.Paths, kubeclient.Interface) error {
		t.Error("the nodes were deleted")
		return nil
	}
	m.Run("leave", "--force").Has(t, exit.Internal, "mullion: a process stays")
}
