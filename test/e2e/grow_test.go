//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
)

// grow gives the cluster that is up more nodes: one whose kubelet does not start, and one that does. The containers
// that run go on in both cases, and so does all else: the control plane and the other nodes' kubelets are the processes
// that they were.
func (c cluster) grow(t *testing.T) {
	t.Helper()
	testrun.Once(t, testrun.Follows)
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := c.mullion(t.Context(), t, append([]string{"kubectl"}, args...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return out
	}

	up := func(nodes string) (string, error) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "cluster.yaml")
		if err := os.WriteFile(file, []byte(clusterYAML+nodes), 0o600); err != nil {
			t.Fatal(err)
		}
		return c.mullion(t.Context(), t, "up", "-f", file, "--kubeconfig", "none")
	}

	// Those that others have killed are started again after a pause, which grows with each time.
	kubectl(append([]string{"delete", "pod", "--ignore-not-found", "--grace-period=1"}, survivorNames()...)...)
	c.apply(t, survivors)
	c.running(t)
	before := c.containers(t)
	running := c.matching(`/(kube-apiserver|etcd|kubelet\.exe|kubelet) `)
	processes := running(t)
	slices.Sort(processes)
	goOn := func() {
		t.Helper()
		now := running(t)
		runs := func(pid int) bool { return slices.Contains(now, pid) }
		if gone := slices.DeleteFunc(slices.Clone(processes), runs); len(gone) > 0 {
			t.Errorf("processes of the control plane or of kubelets have ended: %v of %v", gone, processes)
		}
	}

	// kubelet.exe does not enforce what pods may have together, and says so.
	out, err := up("- kubeletConfiguration: {enforceNodeAllocatable: [pods]}\n")
	for _, says := range []string{
		"the cluster goes on as it was", "EnforceNodeAllocatable (--enforce-node-allocatable) [pods] is not supported on Windows",
	} {
		if err == nil || !strings.Contains(out, says) {
			t.Errorf("up with a node that does not start: %v\n%s", err, out)
		}
	}

	c.healthy(t)
	if out := kubectl("get", "nodes", "-o", "name"); strings.Contains(out, "win-3") {
		t.Errorf("nodes: %s", out)
	}

	goOn()
	if out, err := up("- os: linux\n"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	goOn()
	c.healthy(t)
	if now := c.containers(t); now != before {
		t.Errorf("containers before:\n%s\nand now:\n%s", before, now)
	}

	_, program, _ := c.programs()
	if out, err := c.mullion(t.Context(), t, "image", "build", program, "--os", "linux", "-t", "mullion.local/grown:v1"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	kubectl("run", "on-new", "--image=mullion.local/grown:v1", "--image-pull-policy=Never", "--restart=Never",
		`--overrides={"spec": {"nodeName": "linux-2"}}`, "--", "say", "it runs")
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "logs", "on-new")
		if err == nil && !strings.Contains(out, "it runs") {
			err = fmt.Errorf("it said %q", out)
		}
		return err
	})

	if out, err := up(""); err == nil || !strings.Contains(out, "nodes has 4 entries, and now 3") {
		t.Errorf("up with a node less: %v\n%s", err, out)
	}
}
