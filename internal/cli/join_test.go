package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/spec"
)

// byToken are flags of a join that is right as far as can be said without asking the server.
func byToken(more ...string) []string {
	return append([]string{
		"join", "--server", "192.0.2.10:6443", "--token", "abcdef.0123456789abcdef",
		"--ca-cert-hash", "sha256:" + strings.Repeat("ab", 32),
	}, more...)
}

func TestJoinSaysWhatIsToBeDone(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	m.calls.join = func(_ context.Context, o join.Options) (spec.Cluster, error) {
		o.Said("found the cluster")
		return spec.Cluster{Name: "theirs", Nodes: []spec.Node{{Name: "win-a"}, {Name: "win-b"}}}, nil
	}

	m.calls.waitingForRights = func(context.Context, layout.Paths, spec.Cluster) []string { return []string{"win-a"} }
	m.calls.waitingForServing = func(context.Context, layout.Paths, spec.Cluster) []*kubeadm.ServingError {
		return []*kubeadm.ServingError{{Node: "win-b", Request: "csr-7"}}
	}
	got := m.run(byToken()...)
	got.out = clitest.Untimed(got.out)
	got.check(t, ExitOK, `ok   found the cluster

This machine is part of cluster "theirs" after N.Ns, with 2 node(s).

Services and connections to other nodes' pods do not work until an administrator of the cluster runs:

  `+kubeadm.GrantCommand("win-a")+`

Logs, exec and metrics of the pods of win-b do not work until an administrator of the cluster runs:

  kubectl certificate approve csr-7
`, "")
}

func TestJoinIsAskedWhatTheFlagsSay(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	var asked join.Options
	m.calls.join = func(_ context.Context, o join.Options) (spec.Cluster, error) {
		asked = o
		return spec.Cluster{}, errors.New("enough")
	}

	m.run(byToken("--os", "linux", "--name", "build", "--count", "2", "--advertise-address", "192.0.2.20",
		"--discovery-timeout", "7s")...).refused(t, ExitInternal, "enough", "")
	if d := asked.Discovery; d.Server != "192.0.2.10:6443" || d.Token.ID != "abcdef" || len(d.Hashes) != 1 ||
		d.Patience != 7*time.Second {
		t.Errorf("discovery %+v", d)
	}

	if asked.Address != netip.MustParseAddr("192.0.2.20") || asked.Paths != m.paths || asked.Retain ||
		asked.Executable != m.env.Executable {
		t.Errorf("asked for %+v", asked)
	}
	if n := asked.Nodes; len(n) != 1 || n[0].OS != spec.Linux || n[0].Name != "build" || n[0].Count != 2 {
		t.Errorf("nodes %+v", n)
	}

	m.run("join", "--kubeconfig", "admin.conf", "--server", "192.0.2.9:6443", "--node-address",
		"192.0.2.50,192.0.2.51", "--kube-proxy-mode", "none", "--disable-default-cni", "--retain")
	want := []netip.Addr{netip.MustParseAddr("192.0.2.50"), netip.MustParseAddr("192.0.2.51")}

	if asked.Kubeconfig != "admin.conf" || asked.Server != "192.0.2.9:6443" || !asked.Retain ||
		asked.KubeProxyMode != spec.KubeProxyNone || !asked.DisableDefaultCNI {
		t.Errorf("asked for %+v", asked)
	}
	if !slices.Equal(want, asked.NodeAddresses) {
		t.Errorf("addresses %v, want %v", asked.NodeAddresses, want)
	}
	m.run(byToken("--advertise-address", "here")...).has(t, ExitUsage, "mullion: --advertise-address: ParseAddr",
		"→ name an IPv4 address of this machine")
}

func TestJoinErrors(t *testing.T) {
	const (
		fresh = "get a new one on the server: `mullion token create --print-join-command`"
		at    = "192.0.2.10:6443"
	)

	for _, tt := range []struct {
		err    error
		code   int
		remedy string
	}{
		{discovery.ErrClock, ExitRequirement, "set the clocks of both machines, for example with NTP, and join again"},
		{discovery.ErrExpired, ExitNotReady, "renew the certificate on the server"},
		{discovery.ErrUnreachable, ExitNotReady, "check that `mullion server` is up there, and that TCP port " + at},
		{discovery.ErrNotReady, ExitNotReady, "wait until `mullion status` on the server says that it is ready"},
		{discovery.ErrToken, ExitRefused, fresh},
		{discovery.ErrSecret, ExitRefused, "check the token's part after the dot; if it is right, another server answers at " + at},
		{discovery.ErrAuthority, ExitRefused, "another server may answer at " + at + ": compare the hash"},
		{machines.ErrRefused, ExitRefused, fresh},
		{join.ErrKubeconfig, ExitUsage, "name an administrator's kubeconfig, or one with a bootstrap token"},
		{join.ErrNotAllowed, ExitRefused, "name an administrator's kubeconfig; or join with --server"},
		{join.ErrNodeAddresses, ExitUsage, "if Mullion made the cluster, leave --node-address out"},
		{join.ErrDeployed, ExitUsage, "leave --kube-proxy-mode and --disable-default-cni out"},
		{join.ErrNoNetwork, ExitRequirement, "name the machine's address on the network of the cluster's nodes"},
		{join.ErrLinuxForeign, ExitUsage, "leave --os out; to add this machine itself as a Linux node"},
		{
			join.ErrVersion, ExitConflict, "name programs of another version with --bundle: a kubelet has the API server's " +
				"minor version, or one of the three before it (https://kubernetes.io/releases/version-skew-policy/#kubelet)",
		},
		{kubeadm.ErrNetwork, ExitConflict, "use a pod network that routes pods' own addresses"},
		{machines.ErrForeign, ExitConflict, "if Mullion made the cluster, bring it up with `mullion server`"},
		{machines.ErrFull, ExitConflict, "take a machine's nodes out (`mullion leave` there"},
		{machines.ErrNodeExists, ExitConflict, "choose another --name"},
		{join.ErrLeft, ExitNotReady, "`mullion leave` removes it when the server answers again"},
		{context.DeadlineExceeded, ExitNotReady, "what the join had made is removed again; join with a larger --wait"},
		{cluster.ErrFailed, ExitNotReady, "the failed cluster is removed again; `mullion up --retain` keeps it and its logs"},
		{&cluster.ConflictError{Err: errors.New("held"), Remedy: "let go"}, ExitConflict, "let go"},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			m := newMachine(t)
			m.lacksNothing()
			m.calls.join = func(context.Context, join.Options) (spec.Cluster, error) {
				return spec.Cluster{}, fmt.Errorf("join: %w", tt.err)
			}
			got := m.run(byToken()...)
			got.has(t, tt.code, "mullion: join: "+tt.err.Error(), "→ "+tt.remedy)
			if got.out != "" {
				t.Errorf("and printed %q", got.out)
			}
		})
	}
}

// TestJoinThatIsKept holds that a join that is to be retained is not said to have left nothing.
func TestJoinThatIsKept(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	m.calls.join = func(context.Context, join.Options) (spec.Cluster, error) {
		return spec.Cluster{}, context.DeadlineExceeded
	}
	m.run(byToken("--retain")...).refused(t, ExitNotReady, "context deadline exceeded",
		"see `mullion status` and DATA/logs; on a slow machine give it more time: `mullion up --wait 20m` goes on with what is there")
}

// TestJoinByFileNamesTheFile holds that a server that is not known by its address is told by the file that names it.
func TestJoinByFileNamesTheFile(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	m.calls.join = func(context.Context, join.Options) (spec.Cluster, error) {
		return spec.Cluster{}, discovery.ErrAuthority
	}
	m.run("join", "--kubeconfig", "admin.conf").has(t, ExitRefused,
		"→ another server may answer at the server of admin.conf: compare")
}

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
			code: ExitRefused,
			out:  "ok   ended things (stop)\n",
			say: "mullion: " + refused.Error() + "\n→ `mullion leave --kubeconfig FILE` with an administrator's kubeconfig; " +
				"or `mullion leave --force` here, and `kubectl delete node` by an administrator\n",
			did: []string{"stop"},
		},
		{
			name: "after-a-reboot",
			err:  away,
			code: ExitNotReady,
			out:  "ok   ended things (stop)\n",
			say: "mullion: " + away.Error() + "\n→ after a reboot, run `mullion up` first; or `mullion leave --force` here, " +
				"and `kubectl delete node` on the server\n",
			did: []string{"stop"},
		},
		{
			name: "no-answer",
			err:  silent,
			code: ExitNotReady,
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
			m.describe(joined)
			did := m.ended(nil)
			m.calls.leave = func(_ context.Context, _ layout.Paths, admin kubeclient.Interface) error {
				if admin != nil {
					t.Error("it is an administrator's")
				}
				return tt.err
			}

			m.run("leave", fmt.Sprintf("--force=%v", tt.force)).check(t, tt.code, tt.out, tt.say)
			if diff := cmp.Diff(tt.did, *did); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLeaveAsAdministrator(t *testing.T) {
	m := newMachine(t)
	m.describe(joined)
	did := m.ended(nil)
	var as kubeclient.Interface
	m.calls.leave = func(_ context.Context, _ layout.Paths, admin kubeclient.Interface) error {
		as = admin
		return nil
	}

	m.run("leave", "--kubeconfig", filepath.Join(m.paths.Data, "absent")).has(t, ExitUsage,
		"mullion: --kubeconfig: ", "→ name the kubeconfig of an administrator of the cluster")
	if len(*did) > 0 {
		t.Errorf("and did %q", *did)
	}
	file := filepath.Join(m.paths.Data, "admin.conf")
	m.write(file, clitest.Kubeconfig("https://192.0.2.10:6443"))
	if got := m.run("leave", "--kubeconfig", file); got.code != ExitOK || as == nil {
		t.Errorf("exit code %d, client %v: %s", got.code, as, got.err)
	}
}

// TestLeaveOfACutShortJoin needs no description of a cluster: the claim alone says that a join was under way.
func TestLeaveOfACutShortJoin(t *testing.T) {
	for _, args := range [][]string{{"leave"}, {"down"}} {
		m := newMachine(t)
		m.write(m.paths.JoinClaim(), `{"server": "https://192.0.2.10:6443", "part": 1, "holder": "X"}`)
		did := m.ended(nil)
		m.calls.leave = func(context.Context, layout.Paths, kubeclient.Interface) error { return nil }
		got := m.run(args...)
		if diff := cmp.Diff([]string{"stop", "down"}, *did); diff != "" || got.code != ExitOK {
			t.Errorf("%v: exit code %d, %s: %s", args, got.code, got.err, diff)
		}
	}
}

// TestDownOfAJoinedMachine goes on where the server does not answer, as leave --force does.
func TestDownOfAJoinedMachine(t *testing.T) {
	m := newMachine(t)
	m.describe(joined)
	did := m.ended(nil)
	m.calls.leave = func(context.Context, layout.Paths, kubeclient.Interface) error { return errors.New("no answer") }
	m.run("down").has(t, ExitOK, "mullion: no answer; going on (--force)", "ok   ended things (down)")
	if diff := cmp.Diff([]string{"stop", "down"}, *did); diff != "" {
		t.Error(diff)
	}
}

// TestEndThatFails holds that nodes stay in the cluster while their processes could not be ended.
func TestEndThatFails(t *testing.T) {
	m := newMachine(t)
	m.describe(joined)
	m.ended(errors.New("a process stays"))
	m.calls.leave = func(context.Context, layout.Paths, kubeclient.Interface) error {
		t.Error("the nodes were deleted")
		return nil
	}
	m.run("leave", "--force").has(t, ExitInternal, "mullion: a process stays")
}
