package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/bundle/bundletest"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// ownVersion is that of a build of one's own.
const ownVersion = "v1.38.0-alpha.1.7+0a1b2c3d4e5f67"

// release puts a bundle of that version into a folder.
func release(t *testing.T) string {
	t.Helper()
	return bundletest.Put(t, t.TempDir(), bundletest.Programs(ownVersion))
}

// takes has bundles taken into the data folder without what else a data folder has, which only root may make.
func (m *machine) takes() {
	m.calls.takeBundle = func(ctx context.Context, paths layout.Paths, sources []string) (*cluster.OwnBundle, error) {
		return cluster.TryBundle(ctx, paths.Data, sources)
	}
}

func TestUpWithABundle(t *testing.T) {
	m := newMachine(t)
	m.comesUp()
	m.takes()
	var asked spec.Cluster
	up := m.calls.up
	m.calls.up = func(ctx context.Context, o cluster.UpOptions) (spec.Cluster, error) {
		asked = o.Spec
		return up(ctx, o)
	}

	got := m.run("up", "--bundle", release(t), "--kubeconfig", "none")
	got.has(t, ExitOK, "ok   bundle ", "     it has no etcd; that of Kubernetes v1.37.1", `Cluster "mullion" is ready`)
	if asked.KubernetesVersion != ownVersion {
		t.Errorf("the control plane has version %q", asked.KubernetesVersion)
	}
	if !bundle.At(m.paths.Data, ownVersion).There() {
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
		"up-fails": {args: []string{}, code: ExitInternal, lines: []string{"mullion: no luck"}},
		"unused": {
			file: older + "nodes: [{os: linux}]\n", code: ExitUsage,
			lines: []string{
				"mullion: no part of the cluster has Kubernetes " + ownVersion + ", which --bundle brings",
				"→ name that version where it is to be: --kubernetes-version",
			},
		},
		"newer-node": {
			file: older + "nodes: [{os: linux, kubernetesVersion: \"1.38\"}]\n", code: ExitUsage,
			lines: []string{"mullion: node linux-1: a node of Kubernetes " + ownVersion + " is newer than the control plane"},
		},
		"unknown-version": {
			args: []string{"--kubernetes-version", "1.30"}, code: ExitUsage,
			lines: []string{"mullion: find Kubernetes v1.30 in"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.lacksNothing()
			m.calls.up = func(context.Context, cluster.UpOptions) (spec.Cluster, error) {
				return spec.Cluster{}, errors.New("no luck")
			}
			m.write(filepath.Join(m.paths.Bin, "kubernetes/v1.37.1/server/bin/etcd"), "")
			args := append([]string{"up", "--bundle", release(t), "--kubeconfig", "none"}, tt.args...)
			if tt.file != "" {
				m.env.In = strings.NewReader(tt.file)
				args = append(args, "-f", "-")
			}

			taken := false
			m.takes()
			take := m.calls.takeBundle
			m.calls.takeBundle = func(ctx context.Context, p layout.Paths, from []string) (*cluster.OwnBundle, error) {
				taken = true
				return take(ctx, p, from)
			}

			m.run(args...).has(t, tt.code, tt.lines...)
			if !taken || bundle.At(m.paths.Data, ownVersion).There() {
				t.Errorf("taken: %v; it is still there", taken)
			}
		})
	}
}

func TestDryRunWithABundle(t *testing.T) {
	m := newMachine(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	m.env.Euid = 1000
	m.lacksNothing()
	got := m.run("up", "--dry-run", "--bundle", release(t))
	got.has(t, ExitOK, "ok   bundle ", "  Kubernetes "+ownVersion+"\n")
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if _, err := os.Stat(m.paths.Data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it made the data folder: %v", err)
	}
}

func TestBundleRefusals(t *testing.T) {
	dir := release(t)
	half := bundletest.Put(t, t.TempDir(), map[string][]byte{
		"node/bin/kubelet.exe": bundletest.Windows(ownVersion), "node/bin/kube-proxy.exe": bundletest.Windows(ownVersion),
	})
	lacking := release(t)
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
			0, ExitUsage,
			"--bundle: read bundle: stat /nowhere/x.tar.gz: no such file or directory",
			"name a folder or archives in the layout of upstream's releases; see `mullion up --help`",
		},
		"only-windows": {
			[]string{"--bundle", half, "--dry-run"},
			1000, ExitUsage,
			"--bundle: the bundle lacks server/bin/kube-apiserver, server/bin/kube-controller-manager, " +
				"server/bin/kube-scheduler, server/bin/kubelet, server/bin/kube-proxy, server/bin/kubectl",
			"upstream's releases have them in kubernetes-server-linux-amd64.tar.gz: name it with another --bundle",
		},
		"no-kubelet.exe": {
			[]string{"--bundle", lacking},
			0, ExitUsage, "--bundle: the bundle lacks node/bin/kubelet.exe",
			"upstream's releases have them in kubernetes-node-windows-amd64.tar.gz: name it with another --bundle",
		},
		"not-root": {
			[]string{"--bundle", dir},
			1000, ExitRequirement,
			"this needs root, as it makes network namespaces, mounts and cgroups: sudo BIN/mullion --data-dir DATA up " +
				"--bundle " + dir, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.takes()
			m.env.Euid = tt.euid
			m.run(append([]string{"up"}, tt.args...)...).refused(t, tt.code, tt.what, tt.remedy)
		})
	}
}

// TestBundleConflict: the data folder has a cluster with other programs of that version.
func TestBundleConflict(t *testing.T) {
	m := newMachine(t)
	m.takes()
	m.describe(func(c *spec.Cluster) { c.KubernetesVersion = ownVersion })
	bundletest.Put(t, filepath.Join(m.paths.Data, "kubernetes", ownVersion), map[string][]byte{"server/bin/kubelet": nil})
	got := m.run("up", "--bundle", release(t))
	got.has(t, ExitConflict, `mullion: the cluster in "DATA" has Kubernetes `+ownVersion+" already, and other programs",
		"→ `mullion down` removes it")
	if !strings.Contains(got.err, "mullion node set") {
		t.Errorf("said %s", got.err)
	}
}
