//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// survivorOf returns the pod of survivors that a node has.
func survivorOf(node string) string {
	return map[string]string{"win-2": "ticks-2", "linux-1": "ticks-linux"}[node]
}

// restarts returns how often a pod's container was started again, and which boot its node is at.
func (c cluster) restarts(ctx context.Context, t *testing.T, pod, node string) (count int, boot string) {
	t.Helper()
	out, err := c.mullion(ctx, t, "kubectl", "get", "pod", pod, "-o",
		"jsonpath={.status.containerStatuses[0].restartCount}")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	count, err = strconv.Atoi(out)
	if err != nil {
		t.Fatal(err)
	}
	boot, err = c.mullion(ctx, t, "kubectl", "get", "node", node, "-o", "jsonpath={.status.nodeInfo.bootID}")
	if err != nil {
		t.Fatalf("%v\n%s", err, boot)
	}

	return count, boot
}

// power switches hosts off and on, and has a Windows host restart itself.
func (c cluster) power(t *testing.T) {
	for _, node := range []string{"win-2", "linux-1"} {
		t.Run(node, func(t *testing.T) {
			before, _ := c.restarts(t.Context(), t, survivorOf(node), node)
			if len(c.inPods(t, node)) == 0 {
				t.Fatal("its pods have no process")
			}
			if out, err := c.mullion(t.Context(), t, "node", "stop", node); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}

			if left := c.inPods(t, node); len(left) > 0 {
				t.Errorf("processes %v of its pods go on", left)
			}
			if out, err := c.mullion(t.Context(), t, "status"); err == nil || !strings.Contains(out, "it is switched off") {
				t.Errorf("status: %v\n%s", err, out)
			}
			if out, err := c.mullion(t.Context(), t, "node", "start", node); err != nil || !strings.Contains(out, "is Ready") {
				t.Fatalf("%v\n%s", err, out)
			}

			c.running(t)
			c.restarted(t, survivorOf(node), node, before, "")
			c.working(t)
			c.resolves(t)
		})
	}

	t.Run("from-within", func(t *testing.T) {
		before, boot := c.restarts(t.Context(), t, "ticks-2", "win-2")
		out, err := c.mullion(t.Context(), t, "node", "exec", "win-2", "--", "powershell", "-Command", "Restart-Computer -Force")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}

		c.restarted(t, "ticks-2", "win-2", before, boot)
		out, err = c.mullion(t.Context(), t, "logs", "kubelet/win-2", "--tail", "100000")
		if !strings.Contains(out, "Node pre-shutdown") {
			t.Errorf("kubelet.exe was not told that the host ends: %v", err)
		}
		c.running(t)
		c.working(t)
	})
	c.healthy(t)
}

// restarted waits until a pod's container was started once more than before, and its node booted since boot, if that is
// not "".
func (c cluster) restarted(t *testing.T, pod, node string, before int, boot string) {
	t.Helper()
	poll(t, 2*settle, func(ctx context.Context) error {
		count, now := c.restarts(ctx, t, pod, node)
		if count != before+1 || (boot != "" && now == boot) {
			return fmt.Errorf("%d restarts and boot %s, before %d and %s", count, now, before, boot)
		}
		return nil
	})
}

// inPods returns the processes in a node's containers.
func (c cluster) inPods(t *testing.T, node string) (all []int) {
	t.Helper()
	for pid := range c.processes(t) {
		cgroup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)) // a process may have ended
		if strings.Contains(string(cgroup), "/"+node+"/") {
			all = append(all, pid)
		}
	}
	return all
}
