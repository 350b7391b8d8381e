package join

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/spec"
)

// machine is one with these commands.
type machine struct {
	*clitest.Machine

	calls Calls
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Machine: clitest.New(t)}
	m.Commands = func(r *reader.Reader) []*cobra.Command {
		return []*cobra.Command{New(r, m.calls), NewToken(r)}
	}
	return m
}

// lacksNothing has the machine found fit for nodes.
func (m *machine) lacksNothing() {
	m.calls.Preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding { return nil }
}

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
	m.calls.Join = func(_ context.Context, o join.Options) (spec.Cluster, error) {
		o.Said("found the cluster")
		return spec.Cluster{Name: "theirs", Nodes: []spec.Node{{Name: "win-a"}, {Name: "win-b"}}}, nil
	}

	m.calls.WaitingForRights = func(context.Context, layout.Paths, spec.Cluster) []string { return []string{"win-a"} }
	m.calls.WaitingForServing = func(context.Context, layout.Paths, spec.Cluster) []*kubeadm.ServingError {
		return []*kubeadm.ServingError{{Node: "win-b", Request: "csr-7"}}
	}

	got := m.Run(byToken()...)
	got.Out = clitest.Untimed(got.Out)
	got.Check(t, exit.OK, `ok   found the cluster

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
	m.calls.Join = func(_ context.Context, o join.Options) (spec.Cluster, error) {
		asked = o
		return spec.Cluster{}, errors.New("enough")
	}

	m.Run(byToken("--os", "linux", "--name", "build", "--count", "2", "--advertise-address", "192.0.2.20",
		"--discovery-timeout", "7s")...).Refused(t, exit.Internal, "enough", "")
	if d := asked.Discovery; d.Server != "192.0.2.10:6443" || d.Token.ID != "abcdef" || len(d.Hashes) != 1 ||
		d.Patience != 7*time.Second {
		t.Errorf("discovery %+v", d)
	}

	if asked.Address != netip.MustParseAddr("192.0.2.20") || asked.Paths != m.Paths || asked.Retain ||
		asked.Executable != m.Env.Executable {
		t.Errorf("asked for %+v", asked)
	}
	if n := asked.Nodes; len(n) != 1 || n[0].OS != spec.Linux || n[0].Name != "build" || n[0].Count != 2 {
		t.Errorf("nodes %+v", n)
	}

	m.Run("join", "--kubeconfig", "admin.conf", "--server", "192.0.2.9:6443", "--node-address",
		"192.0.2.50,192.0.2.51", "--kube-proxy-mode", "none", "--disable-default-cni", "--retain")
	want := []netip.Addr{netip.MustParseAddr("192.0.2.50"), netip.MustParseAddr("192.0.2.51")}

	if asked.Kubeconfig != "admin.conf" || asked.Server != "192.0.2.9:6443" || !asked.Retain ||
		asked.KubeProxyMode != spec.KubeProxyNone || !asked.DisableDefaultCNI {
		t.Errorf("asked for %+v", asked)
	}
	if !slices.Equal(want, asked.NodeAddresses) {
		t.Errorf("addresses %v, want %v", asked.NodeAddresses, want)
	}
	m.Run(byToken("--advertise-address", "here")...).Has(t, exit.Usage, "mullion: --advertise-address: ParseAddr",
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
		{discovery.ErrClock, exit.Requirement, "set the clocks of both machines, for example with NTP, and join again"},
		{discovery.ErrExpired, exit.NotReady, "renew the certificate on the server"},
		{discovery.ErrUnreachable, exit.NotReady, "check that `mullion server` is up there, and that TCP port " + at},
		{discovery.ErrNotReady, exit.NotReady, "wait until `mullion status` on the server says that it is ready"},
		{discovery.ErrToken, exit.Refused, fresh},
		{discovery.ErrSecret, exit.Refused, "check the token's part after the dot; if it is right, another server answers at " + at},
		{discovery.ErrAuthority, exit.Refused, "another server may answer at " + at + ": compare the hash"},
		{machines.ErrRefused, exit.Refused, fresh},
		{join.ErrKubeconfig, exit.Usage, "name an administrator's kubeconfig, or one with a bootstrap token"},
		{join.ErrNotAllowed, exit.Refused, "name an administrator's kubeconfig; or join with --server"},
		{join.ErrNodeAddresses, exit.Usage, "if Mullion made the cluster, leave --node-address out"},
		{join.ErrDeployed, exit.Usage, "leave --kube-proxy-mode and --disable-default-cni out"},
		{join.ErrNoNetwork, exit.Requirement, "name the machine's address on the network of the cluster's nodes"},
		{join.ErrLinuxForeign, exit.Usage, "leave --os out; to add this machine itself as a Linux node"},
		{
			join.ErrVersion, exit.Conflict, "name programs of another version with --bundle: a kubelet has the API server's " +
				"minor version, or one of the three before it (https://kubernetes.io/releases/version-skew-policy/#kubelet)",
		},
		{kubeadm.ErrNetwork, exit.Conflict, "use a pod network that routes pods' own addresses"},
		{machines.ErrForeign, exit.Conflict, "if Mullion made the cluster, bring it up with `mullion server`"},
		{machines.ErrFull, exit.Conflict, "take a machine's nodes out (`mullion leave` there"},
		{machines.ErrNodeExists, exit.Conflict, "choose another --name"},
		{join.ErrLeft, exit.NotReady, "`mullion leave` removes it when the server answers again"},
		{context.DeadlineExceeded, exit.NotReady, "what the join had made is removed again; join with a larger --wait"},
		{cluster.ErrFailed, exit.NotReady, "the failed cluster is removed again; `mullion up --retain` keeps it and its logs"},
		{&cluster.ConflictError{Err: errors.New("held"), Remedy: "let go"}, exit.Conflict, "let go"},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			m := newMachine(t)
			m.lacksNothing()
			m.calls.Join = func(context.Context, join.Options) (spec.Cluster, error) {
				return spec.Cluster{}, fmt.Errorf("join: %w", tt.err)
			}

			got := m.Run(byToken()...)
			got.Has(t, tt.code, "mullion: join: "+tt.err.Error(), "→ "+tt.remedy)
			if got.Out != "" {
				t.Errorf("and printed %q", got.Out)
			}
		})
	}
}

// TestJoinThatIsKept holds that a join that is to be retained is not said to have left nothing.
func TestJoinThatIsKept(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	m.calls.Join = func(context.Context, join.Options) (spec.Cluster, error) {
		return spec.Cluster{}, context.DeadlineExceeded
	}
	m.Run(byToken("--retain")...).Refused(t, exit.NotReady, "context deadline exceeded",
		"see `mullion status` and DATA/logs; on a slow machine give it more time: `mullion up --wait 20m` goes on with what is there")
}

// TestJoinByFileNamesTheFile holds that a server that is not known by its address is told by the file that names it.
func TestJoinByFileNamesTheFile(t *testing.T) {
	m := newMachine(t)
	m.lacksNothing()
	m.calls.Join = func(context.Context, join.Options) (spec.Cluster, error) {
		return spec.Cluster{}, discovery.ErrAuthority
	}
	m.Run("join", "--kubeconfig", "admin.conf").Has(t, exit.Refused,
		"→ another server may answer at the server of admin.conf: compare")
}

// TestJoinWithAFolderOfWine: the folder is looked into before anything is done.
func TestJoinWithAFolderOfWine(t *testing.T) {
	newMachine(t).Run(byToken("--wine", "/var/empty-for-mullion")...).Has(t, exit.Usage,
		"mullion: wine: find wine: lstat /var/empty-for-mullion: no such file or directory",
		"→ name another folder: --wine, or wine in the file; or leave it out")
}
