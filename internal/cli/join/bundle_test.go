package join

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/bundle/bundletest"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/spec"
)

// takes has bundles taken into the data folder without what else a data folder has, which only root may make.
func (m *machine) takes() {
	m.calls.TakeBundle = func(ctx context.Context, paths layout.Paths, sources []string) (*cluster.OwnBundle, error) {
		return cluster.TryBundle(ctx, paths.Data, sources)
	}
}

// TestJoinWithABundle gives the nodes the bundle's version, and looks on the machine for its programs alone.
func TestJoinWithABundle(t *testing.T) {
	m := newMachine(t)
	m.takes()
	var needed []string
	m.calls.Preflight = func(_ context.Context, o cluster.PreflightOptions) []preflight.Finding {
		needed = o.Kubernetes
		return nil
	}

	var asked []spec.Node
	m.calls.Join = func(_ context.Context, o join.Options) (spec.Cluster, error) {
		asked = o.Nodes
		return spec.Cluster{Name: "theirs", Nodes: o.Nodes}, nil
	}
	m.calls.WaitingForRights = func(context.Context, layout.Paths, spec.Cluster) []string { return nil }
	m.calls.WaitingForServing = func(context.Context, layout.Paths, spec.Cluster) []*kubeadm.ServingError { return nil }
	got := m.Run(byToken("--bundle", clitest.Release(t))...)
	got.Has(t, exit.OK, "ok   bundle ", `This machine is part of cluster "theirs"`)

	if len(asked) != 1 || asked[0].KubernetesVersion != clitest.OwnVersion || strings.Contains(got.Out, "etcd") {
		t.Errorf("asked for %+v, said %s", asked, got.Out)
	}
	if diff := cmp.Diff([]string{clitest.OwnVersion}, needed); diff != "" {
		t.Errorf("the versions that are needed (-want +got):\n%s", diff)
	}
	if !bundle.At(m.Paths.Data, clitest.OwnVersion).There() {
		t.Error("the bundle is gone")
	}
}

// TestJoinThatDoesNotUseABundle gives it back, where the machine is not fit too.
func TestJoinThatDoesNotUseABundle(t *testing.T) {
	for name, tt := range map[string]struct {
		err, unfit error
		code       int
		line       string
	}{
		"join-fails": {err: errors.New("no luck"), code: exit.Internal, line: "mullion: no luck"},
		"other-version": {
			err: join.ErrVersion, code: exit.Conflict, line: "→ name programs of another version with --bundle: a kubelet has",
		},
		"unfit": {unfit: errors.New("the kernel is too old"), code: exit.Requirement, line: "mullion: the kernel is too old"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.takes()
			m.calls.Preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding {
				if tt.unfit == nil {
					return nil
				}
				return []preflight.Finding{{Check: "kernel", Problem: tt.unfit.Error(), Remedy: "take another", Fatal: true}}
			}

			m.calls.Join = func(context.Context, join.Options) (spec.Cluster, error) {
				if !bundle.At(m.Paths.Data, clitest.OwnVersion).There() {
					t.Error("the bundle is not there")
				}
				return spec.Cluster{}, tt.err
			}
			m.Run(byToken("--bundle", clitest.Release(t))...).Has(t, tt.code, "ok   bundle ", tt.line)
			if bundle.At(m.Paths.Data, clitest.OwnVersion).There() {
				t.Error("it is still there")
			}
		})
	}
}

// TestJoinRefusesABundle before it asks the server, and makes nothing.
func TestJoinRefusesABundle(t *testing.T) {
	half := bundletest.Put(t, t.TempDir(), map[string][]byte{
		"node/bin/kubelet.exe": bundletest.Windows(clitest.OwnVersion), "node/bin/kube-proxy.exe": bundletest.Windows(clitest.OwnVersion),
	})

	for name, tt := range map[string]struct {
		bundle string
		change func(*machine)
		code   int
		lines  []string
	}{
		"no-such-file": {"/nowhere/x.tar.gz", nil, exit.Usage, []string{
			"mullion: --bundle: read bundle: stat /nowhere/x.tar.gz: no such file or directory",
			"→ name a folder or archives in the layout of upstream's releases; see `mullion join --help`",
		}},
		"only-windows": {half, nil, exit.Usage, []string{
			"mullion: --bundle: the bundle lacks server/bin/kube-apiserver",
			"→ upstream's releases have them in kubernetes-server-linux-amd64.tar.gz: name it with another --bundle",
		}},
		"not-root": {
			clitest.Release(t),
			func(m *machine) { m.Env.Euid = 1000 },
			exit.Requirement,
			[]string{"mullion: this needs root, as it makes network namespaces"},
		},
		"cluster": {clitest.Release(t), func(m *machine) { m.Describe(nil) }, exit.Conflict, []string{
			`mullion: data folder "DATA" holds a cluster or a machine of one already: "mullion"`,
			"→ `mullion up` brings it back",
		}},
		"interrupted-join": {clitest.Release(t), func(m *machine) {
			m.Write(m.Paths.JoinClaim(), "{}")
			m.calls.TakeBundle = cluster.TakeBundle
		}, exit.Conflict, []string{
			`mullion: data folder "DATA" holds the remains of a ` + "`mullion join` that was interrupted",
			"→ `mullion leave` removes them, here and in the cluster",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.takes()
			m.calls.Join = func(context.Context, join.Options) (spec.Cluster, error) {
				t.Error("it joined")
				return spec.Cluster{}, nil
			}
			if tt.change != nil {
				tt.change(m)
			}

			m.Run(byToken("--bundle", tt.bundle)...).Has(t, tt.code, tt.lines...)
			left, err := os.ReadDir(filepath.Join(m.Paths.Data, "kubernetes"))
			if (err != nil && !errors.Is(err, os.ErrNotExist)) || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
}
