//go:build cluster

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
)

// ownVersion is what own says of itself: another number than that of Mullion's bundle, of as many bytes.
const ownVersion = "v1.37.9"

// own makes a program of a person's own: upstream's, which says another version.
func own(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if len(version.Kubernetes) != len(ownVersion) || !bytes.Contains(text, []byte(version.Kubernetes)) {
		t.Fatalf("%s does not have its version in it", from)
	}

	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(version.Kubernetes), []byte(ownVersion))
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

// kubeletVersions waits until nodes are Ready with kubelets of these versions.
func (c cluster) kubeletVersions(t *testing.T, want map[string]string) {
	t.Helper()
	poll(t, settle, func(ctx context.Context) error {
		for node, v := range want {
			out, err := c.mullion(ctx, t, "kubectl", "get", "node", node, "-o",
				`jsonpath={.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status}`)
			if err != nil || out != v+" True" {
				return fmt.Errorf("node %s is %q, want %s and True: %w", node, out, v, err)
			}
		}
		return nil
	})
}

// ownPrograms gives nodes a kubelet of one's own, which they keep when it is killed and when the supervisor is, and
// puts upstream's back. The pods go on.
func (c cluster) ownPrograms(t *testing.T) {
	b := bundle.At(c.bin, version.Kubernetes)
	for _, tt := range []struct{ node, from, own, upstream, other, silent string }{
		{
			"win-1", filepath.Join(b.Node(), "kubelet.exe"), `^C:\\k\\own\\kubelet\.exe .*--hostname-override=win-1 `,
			`^C:\\k\\kubelet\.exe .*--hostname-override=win-1 `, filepath.Join(c.bin, "windows", "host-local.exe"),
			filepath.Join(c.bin, "windows", "shim", "refuse.exe"),
		},
		{
			"linux-1", filepath.Join(b.Server(), "kubelet"), `/own/kubelet .*--hostname-override=linux-1 `,
			`/kubernetes/kubelet .*--hostname-override=linux-1 `, filepath.Join(c.bin, "cni", "host-local"),
			"/usr/bin/true",
		},
	} {
		t.Run(tt.node, func(t *testing.T) {
			before := c.containers(t)
			mullion := func(args ...string) string {
				t.Helper()
				out, err := c.mullion(t.Context(), t, args...)
				if err != nil {
					t.Fatalf("mullion %s: %v\n%s", strings.Join(args, " "), err, out)
				}
				return out
			}

			file := filepath.Join(t.TempDir(), filepath.Base(tt.from))
			own(t, tt.from, file)
			if out := mullion("node", "set", tt.node, "--kubelet", file); !strings.Contains(out, "ready after") {
				t.Errorf("it said %s", out)
			}
			if err := os.Remove(file); err != nil { // it is built anew
				t.Fatal(err)
			}

			c.kubeletVersions(t, map[string]string{tt.node: ownVersion})
			c.saysOwn(t, tt.node, true)
			c.back(t, tt.own, c.kill(t, tt.own))
			c.working(t)

			out, err := c.mullion(t.Context(), t, "node", "set", tt.node, "--kubelet", tt.other)
			if err == nil || !strings.Contains(out, "and not a kubelet") {
				t.Errorf("with a program that says that it is no kubelet: %v\n%s", err, out)
			}
			out, err = c.mullion(t.Context(), t, "node", "set", tt.node, "--kubelet", tt.silent)
			if err == nil || !strings.Contains(out, "has its former one again") {
				t.Errorf("with a program that does not say what it is: %v\n%s", err, out)
			}
			c.kubeletVersions(t, map[string]string{tt.node: ownVersion})

			c.kill(t, ` supervise `)
			c.up(t)
			c.kubeletVersions(t, map[string]string{tt.node: ownVersion})
			c.back(t, tt.own, nil)
			c.working(t)

			if out := mullion("node", "set", tt.node, "--default"); !strings.Contains(out, "upstream's again") {
				t.Errorf("it said %s", out)
			}
			c.kubeletVersions(t, map[string]string{tt.node: version.Kubernetes})
			c.back(t, tt.upstream, nil)
			c.saysOwn(t, tt.node, false)
			c.working(t)
			c.same(t, before)
		})
	}
}

// saysOwn checks what `mullion status` says of a node's kubelet.
func (c cluster) saysOwn(t *testing.T, node string, want bool) {
	t.Helper()
	poll(t, settle, func(ctx context.Context) error {
		text, err := c.mullion(ctx, t, "status")
		if err != nil {
			return fmt.Errorf("%w: %s", err, text)
		}

		var report struct {
			Health struct {
				Nodes []struct {
					Name  string
					Parts map[string]struct{ Own bool }
				}
			}
		}

		out, err := c.mullion(ctx, t, "status", "-o", "json")
		if err := errors.Join(err, json.Unmarshal([]byte(out), &report)); err != nil {
			return err
		}
		for _, n := range report.Health.Nodes {
			if n.Name == node && n.Parts["kubelet"].Own == want && strings.Contains(text, "ok (own)") == want {
				return nil
			}
		}

		return fmt.Errorf("the kubelet of %s is not said to be own=%v:\n%s", node, want, text)
	})
}

// TestFieldOwnBundle brings up a cluster with programs of one's own, those for Linux from a folder without etcd and
// those for Windows from an archive, stops it and brings it back.
func TestFieldOwnBundle(t *testing.T) {
	needs(t, ownCluster("E2E_DATA_DIR names a cluster of one version"))

	c := newCluster(t)
	b := bundle.At(c.bin, version.Kubernetes)
	dir := filepath.Join(c.home, "own")
	own(t, filepath.Join(b.Server(), "kube-apiserver"), filepath.Join(dir, "server/bin/hyperkube"))
	for _, name := range []string{
		"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
	} {
		if err := os.Symlink("hyperkube", filepath.Join(dir, "server/bin", name)); err != nil {
			t.Fatal(err)
		}
	}

	archive := filepath.Join(c.home, "kubernetes-node-windows-amd64.tar.gz")
	packWindows(t, b, archive)
	t.Cleanup(func() { c.takeDown(t) })
	out, err := c.mullion(t.Context(), t, "up", "--bundle", dir, "--bundle", archive, "--windows-version", "ltsc2022")
	if err != nil || !strings.Contains(out, "bundle "+ownVersion) || !strings.Contains(out, "it has no etcd") {
		logs(t, c)
		t.Fatalf("%v\n%s", err, out)
	}

	if err := errors.Join(os.RemoveAll(dir), os.Remove(archive)); err != nil {
		t.Fatal(err)
	}

	for _, again := range []bool{false, true} {
		if again {
			if out, err := c.mullion(t.Context(), t, "stop"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			c.up(t)
		}

		c.kubeletVersions(t, map[string]string{"linux-1": ownVersion, "win-1": ownVersion})
		out, err := c.mullion(t.Context(), t, "kubectl", "version")
		if err != nil || strings.Count(out, ownVersion) != 2 {
			t.Errorf("client and server: %v\n%s", err, out)
		}
	}
}

// packWindows makes an archive of a person's own programs for Windows, as upstream releases them.
func packWindows(t *testing.T, b bundle.Bundle, archive string) {
	t.Helper()
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}

	w := tar.NewWriter(z)
	for _, name := range []string{"kubelet.exe", "kube-proxy.exe"} {
		made := filepath.Join(t.TempDir(), name)
		own(t, filepath.Join(b.Node(), name), made)
		text, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}

		h := &tar.Header{
			Name:     "kubernetes/node/bin/" + name,
			Typeflag: tar.TypeReg,
			Mode:     0o755,
			Size:     int64(len(text)),
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}

		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(w.Close(), z.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}
