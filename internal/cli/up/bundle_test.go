package up

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/bundle/bundletest"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// takes has bundles taken into the data folder without what else a data folder has, which only root may make.
func (m *machine) takes() {
	m.calls.TakeBundle = func(ctx context.Context, paths layout.Paths, sources []string) (*cluster.OwnBundle, error) {
		return cluster.TryBundle(ctx, paths.Data, sources)
	}
}

func TestUpWithABundle(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	m.takes()
	var asked spec.Cluster
	up := m.calls.Up
	m.calls.Up = func(ctx context.Context, o cluster.UpOptions) (spec.Cluster, error) {
		asked = o.Spec
		return up(ctx, o)
	}

	got := m.Run("up", "--bundle", clitest.Release(t), "--kubeconfig", "none")
	got.Has(t, exit.OK, "ok   bundle ", "     it has no etcd; that of Kubernetes v1.37.1", `Cluster "mullion" is ready`)
	if asked.KubernetesVersion != clitest.OwnVersion {
		t.Errorf("the control plane has version %q", asked.KubernetesVersion)
	}
	if !bundle.At(m.Paths.Data, clitest.OwnVersion).There() {
		t.Error("the bundle is gone")
	}
}

// TestUpThatDoesNotUseABundle gives it back: for a cluster that does not come up, one of other versions, a machine that
// is not fit.
func TestUpThatDoesNotUseABundle(t *testing.T) {
	const older = "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nkubernetesVersion: \"1.37\"\n"
	for name, tt := range map[string]struct {
		file  string
		args  []string
		code  int
		lines []string
	}{
		"up-fails": {args: []string{}, code: exit.Internal, lines: []string{"mullion: no luck"}},
		"unused": {
			file: older + "nodes: [{os: linux}]\n", code: exit.Usage,
			lines: []string{
				"mullion: no part of the cluster has Kubernetes " + clitest.OwnVersion + ", which --bundle brings",
				"→ name that version where it is to be: --kubernetes-version",
			},
		},
		"newer-node": {
			file: older + "nodes: [{os: linux, kubernetesVersion: \"1.38\"}]\n", code: exit.Usage,
			lines: []string{"mullion: node linux-1: a node of Kubernetes " + clitest.OwnVersion + " is newer than the control plane"},
		},
		"unknown-version": {
			args: []string{"--kubernetes-version", "1.30"}, code: exit.Usage,
			lines: []string{"mullion: find Kubernetes v1.30 in"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.lacksNothing()
			m.calls.Up = func(context.Context, cluster.UpOptions) (spec.Cluster, error) {
				return spec.Cluster{}, errors.New("no luck")
			}
			m.Write(filepath.Join(m.Paths.Bin, "kubernetes/v1.37.1/server/bin/etcd"), "")
			args := append([]string{"up", "--bundle", clitest.Release(t), "--kubeconfig", "none"}, tt.args...)
			if tt.file != "" {
				m.Env.In = strings.NewReader(tt.file)
				args = append(args, "-f", "-")
			}

			taken := false
			m.takes()
			take := m.calls.TakeBundle
			m.calls.TakeBundle = func(ctx context.Context, p layout.Paths, from []string) (*cluster.OwnBundle, error) {
				taken = true
				return take(ctx, p, from)
			}

			m.Run(args...).Has(t, tt.code, tt.lines...)
			if !taken || bundle.At(m.Paths.Data, clitest.OwnVersion).There() {
				t.Errorf("taken: %v; it is still there", taken)
			}
		})
	}
}

func TestDryRunWithABundle(t *testing.T) {
	m := newMachine(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	m.Env.Euid = 1000
	m.lacksNothing()
	got := m.Run("up", "--dry-run", "--bundle", clitest.Release(t))
	got.Has(t, exit.OK, "ok   bundle ", "  Kubernetes "+clitest.OwnVersion+"\n")
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if _, err := os.Stat(m.Paths.Data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it made the data folder: %v", err)
	}
}

func TestBundleRefusals(t *testing.T) {
	dir := clitest.Release(t)
	half := bundletest.Put(t, t.TempDir(), map[string][]byte{
		"node/bin/kubelet.exe": bundletest.Windows(clitest.OwnVersion), "node/bin/kube-proxy.exe": bundletest.Windows(clitest.OwnVersion),
	})
	lacking := clitest.Release(t)
	if err := os.Remove(filepath.Join(lacking, "node/bin/kubelet.exe")); err != nil {
		t.Fatal(err)
	}

	for name, tt := range map[string]struct {
		args         []string
		euid, code   int
		what, remedy string
	}{
		"no-such-file": {
			[]string{"--bundle", "/nowhere/x.tar.gz"},
			0, exit.Usage,
			"--bundle: read bundle: stat /nowhere/x.tar.gz: no such file or directory",
			"name a folder or archives in the layout of upstream's releases; see `mullion up --help`",
		},
		"only-windows": {
			[]string{"--bundle", half, "--dry-run"},
			1000, exit.Usage,
			"--bundle: the bundle lacks server/bin/kube-apiserver, server/bin/kube-controller-manager, " +
				"server/bin/kube-scheduler, server/bin/kubelet, server/bin/kube-proxy, server/bin/kubectl",
			"upstream's releases have them in kubernetes-server-linux-amd64.tar.gz: name it with another --bundle",
		},
		"no-kubelet.exe": {
			[]string{"--bundle", lacking},
			0, exit.Usage, "--bundle: the bundle lacks node/bin/kubelet.exe",
			"upstream's releases have them in kubernetes-node-windows-amd64.tar.gz: name it with another --bundle",
		},
		"not-root": {
			[]string{"--bundle", dir},
			1000, exit.Requirement,
			"this needs root, as it makes network namespaces, mounts and cgroups: sudo BIN/mullion --data-dir DATA up " +
				"--bundle " + dir, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.takes()
			m.Env.Euid = tt.euid
			m.Run(append([]string{"up"}, tt.args...)...).Refused(t, tt.code, tt.what, tt.remedy)
		})
	}
}

// TestBundleConflict: the data folder has a cluster with other programs of that version.
func TestBundleConflict(t *testing.T) {
	m := newMachine(t)
	m.takes()
	m.Describe(func(c *spec.Cluster) { c.KubernetesVersion = clitest.OwnVersion })
	bundletest.Put(t, filepath.Join(m.Paths.Data, "kubernetes", clitest.OwnVersion), map[string][]byte{"server/bin/kubelet": nil})
	got := m.Run("up", "--bundle", clitest.Release(t))
	got.Has(t, exit.Conflict, `mullion: the cluster in "DATA" has Kubernetes `+clitest.OwnVersion+" already, and other programs",
		"→ `mullion down` removes it")
	if !strings.Contains(got.Err, "mullion node set") {
		t.Errorf("said %s", got.Err)
	}
}
