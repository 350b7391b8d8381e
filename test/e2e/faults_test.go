//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// survivors are pods that count; one on each node.
const survivors = `
apiVersion: v1
kind: Pod
metadata: {name: ticks-1}
spec:
  nodeName: win-1
  terminationGracePeriodSeconds: 1
  containers: [{name: ticks, image: 'mullion.local/e2e:v1', args: [tick]}]
---
apiVersion: v1
kind: Pod
metadata: {name: ticks-2}
spec:
  nodeName: win-2
  terminationGracePeriodSeconds: 1
  containers: [{name: ticks, image: 'mullion.local/e2e:v1', args: [tick]}]
---
apiVersion: v1
kind: Pod
metadata: {name: ticks-linux}
spec:
  nodeName: linux-1
  terminationGracePeriodSeconds: 1
  containers: [{name: ticks, image: 'mullion.local/e2e-linux:v1', args: [tick]}]
`

// served is a pod that answers on a port of its node, so that it can be called while the cluster's own parts do not
// work.
const served = `
---
apiVersion: v1
kind: Pod
metadata: {name: serves, labels: {app: serves}}
spec:
  nodeName: win-1
  terminationGracePeriodSeconds: 1
  containers: [{name: serves, image: 'mullion.local/e2e:v1', args: [serve, ':80']}]
---
apiVersion: v1
kind: Service
metadata: {name: serves}
spec: {type: NodePort, selector: {app: serves}, ports: [{port: 80, nodePort: 31980}]}
`

// survivorNames returns the pods of survivors.
func survivorNames() []string { return []string{"ticks-1", "ticks-2", "ticks-linux"} }

// faults kills parts of the cluster and waits until they are back; it also makes requests that have to be refused.
func (c cluster) faults(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "survivors.yaml")
	if err := os.WriteFile(file, []byte(survivors+served), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := c.mullion(t.Context(), t, "kubectl", "apply", "-f", file); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	c.running(t)
	t.Run("status", c.broken)
	t.Run("full-disk", c.fullDisk)
	t.Run("cut-off", c.cutOff)
	t.Run("control-plane", c.controlPlane)
	for _, tc := range []struct{ name, pattern string }{
		{"kubelet", `^C:\\k\\kubelet\.exe .*--hostname-override=win-1 `},
		{"agent", `mullion-node serve .*/win-1/`},
		{"pipes", `mullion-pipe\.exe --security .*\\win-1\\pipes`},
		{"containerd", `/containerd --config `},
		{"host", `mullion-node host-init .*/win-2/`},
		{"linux-kubelet", `/kubernetes/kubelet .*--hostname-override=linux-1 `},
		{"linux-kube-proxy", `/kubernetes/kube-proxy .*--hostname-override=linux-1 `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := c.containers(t)
			killed := c.kill(t, tc.pattern)
			c.back(t, tc.pattern, killed)
			c.working(t)
			c.resolves(t)
			c.same(t, before)
		})
	}

	t.Run("wineserver", func(t *testing.T) {
		before := c.containers(t)
		const kubelet = `^C:\\k\\kubelet\.exe .*--hostname-override=win-2 `
		old := map[int]string{}
		for _, pid := range c.matching(kubelet)(t) {
			old[pid] = kubelet
		}

		if err := syscall.Kill(c.wineserver(t, "win-2"), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		c.back(t, kubelet, old)
		c.working(t)
		c.same(t, before)
	})
	t.Run("wineserver-of-a-pod", c.podWithoutServer)
	t.Run("supervisor", func(t *testing.T) {
		before := c.containers(t)
		killed := c.kill(t, ` supervise `)
		c.up(t)
		c.back(t, ` supervise `, killed)
		c.working(t)
		c.same(t, before)
	})
	t.Run("own-programs", c.ownPrograms)
	t.Run("everything", func(t *testing.T) {
		for range 3 { // again, for processes that were being started meanwhile
			for pid := range c.processes(t) {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Fatal(err)
				}
			}
		}

		c.up(t)
		c.running(t)
		c.working(t)
	})
	t.Run("power", c.power)
	if os.Getenv("E2E_DATA_DIR") == "" { // E2E_DATA_DIR may hold a cluster of another specification
		t.Run("conflicts", c.conflicts)
	}
}

// controlPlane kills the API server and etcd. Pods must serve all the while, and what was written before must still be
// there.
func (c cluster) controlPlane(t *testing.T) {
	var url string
	poll(t, settle, func(ctx context.Context) error {
		address, err := c.mullion(ctx, t, "kubectl", "get", "node", "win-1", "-o",
			"jsonpath={.status.addresses[0].address}")
		if err != nil {
			return errors.New(address)
		}

		url = "http://" + address + ":31980/"
		resp, err := http.Get(url)
		if err != nil {
			return err
		}

		return resp.Body.Close()
	})

	before := c.containers(t)
	end := c.serving(t, url)
	for _, pattern := range []string{
		`/server/bin/kube-apiserver `, `/server/bin/etcd `,
		`/server/bin/(etcd|kube-apiserver|kube-controller-manager|kube-scheduler) `,
	} {
		if out, err := c.mullion(t.Context(), t, "kubectl", "create", "configmap", "written",
			"--from-literal=by="+pattern); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}

		killed := c.kill(t, pattern)
		c.back(t, pattern, killed)
		poll(t, settle, func(ctx context.Context) error {
			out, err := c.mullion(ctx, t, "kubectl", "get", "configmap", "written", "-o", "jsonpath={.data.by}")
			if err != nil || out != pattern {
				return fmt.Errorf("what was written just before: %q, %w", out, err)
			}
			return nil
		})

		if out, err := c.mullion(t.Context(), t, "kubectl", "delete", "configmap", "written"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}

	c.working(t)
	c.resolves(t)
	if asked, failed, last := end(); failed > 0 || asked < 20 {
		t.Errorf("of %d requests to a pod %d failed while the control plane was killed, the last with: %v", asked,
			failed, last)
	}
	c.same(t, before)
	c.healthy(t)
}

// conflicts asks for clusters that cannot exist beside this one.
func (c cluster) conflicts(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(other, []byte(strings.Replace(clusterYAML, "ltsc2019", "ltsc2025", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	same := filepath.Join(dir, "same.yaml")
	if err := os.WriteFile(same, []byte(strings.Replace(clusterYAML, "mullion-e2e", "beside", 1)), 0o600); err != nil {
		t.Fatal(err)
	}

	data := filepath.Join(dir, "data")
	for _, args := range [][]string{{"up", "-f", other}, {"--data-dir", data, "up", "-f", same}} {
		out, err := c.mullion(t.Context(), t, args...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 4 {
			t.Errorf("mullion %s: %v, want exit code 4\n%s", strings.Join(args, " "), err, out)
		}
		t.Logf("%s", out)
	}

	if left := (cluster{data: data}).traces(t); len(left) != 0 {
		t.Errorf("the refused cluster left behind:\n%s", strings.Join(left, "\n"))
	}
	c.working(t)
}

func (c cluster) up(t *testing.T) {
	t.Helper()
	if out, err := c.mullion(t.Context(), t, "up"); err != nil {
		t.Fatalf("mullion up: %v\n%s", err, out)
	}
}

// back waits until a process that matches the pattern runs again.
func (c cluster) back(t *testing.T, pattern string, killed map[int]string) {
	t.Helper()
	match := regexp.MustCompile(pattern)
	until(t, settle, func() error {
		for pid, command := range c.processes(t) {
			if match.MatchString(command) && killed[pid] == "" {
				return nil
			}
		}
		return errors.New("no new process matches " + pattern)
	})
}

func (c cluster) running(t *testing.T) {
	t.Helper()
	poll(t, 2*settle, func(ctx context.Context) error {
		for _, what := range [][]string{
			{"wait", "--for=condition=Ready", "nodes", "--all", "--timeout=5s"},
			append([]string{"wait", "--for=condition=Ready", "pods", "--timeout=5s"}, survivorNames()...),
		} {
			if out, err := c.mullion(ctx, t, append([]string{"kubectl"}, what...)...); err != nil {
				return errors.New(out)
			}
		}
		return nil
	})
}

// containers returns the ids and restart counts of the pods' containers.
func (c cluster) containers(t *testing.T) string {
	t.Helper()
	out, err := c.mullion(t.Context(), t, append([]string{
		"kubectl", "get", "pods", "-o",
		`jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[0].containerID} restarts={.status.containerStatuses[0].restartCount}{"\n"}{end}`,
	}, survivorNames()...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func (c cluster) same(t *testing.T, before string) {
	t.Helper()
	if after := c.containers(t); after != before || strings.Count(after, "restarts=0") != len(survivorNames()) {
		t.Errorf("containers before:\n%s\nand after:\n%s", before, after)
	}
}

// resolves waits until the pod ticks-linux gets an answer from the cluster's DNS. The DNS server is behind a Service
// that existed before the fault.
func (c cluster) resolves(t *testing.T) {
	t.Helper()
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "exec", "ticks-linux", "--", "tool", "lookup", "kubernetes")
		if err != nil || !strings.HasPrefix(out, "kubernetes [") {
			return errors.New(out)
		}
		return nil
	})
}

// working waits until each of the pods writes new log lines and exec works in it, which goes through its kubelet. The
// pods are asked side by side: what is waited for is the next second's line.
func (c cluster) working(t *testing.T) {
	t.Helper()
	pods := survivorNames()
	errs := make([]error, len(pods))
	var asked sync.WaitGroup
	for i, pod := range pods {
		asked.Go(func() {
			if errs[i] = c.writesOn(t, pod); errs[i] == nil {
				errs[i] = c.runsIn(t, pod)
			}
		})
	}

	asked.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	c.healthy(t)
}

// writesOn waits until a pod that counts writes a new line.
func (c cluster) writesOn(t *testing.T, pod string) error {
	t.Helper()
	first := -1
	return awaited(t.Context(), settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "logs", "--tail=1", pod)
		if err != nil {
			return fmt.Errorf("the log of %s: %s", pod, out)
		}
		n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(out, "tick ")))
		if err != nil {
			return err
		}

		if first < 0 || n <= first {
			first = max(n, 0)
			return fmt.Errorf("the log of %s does not grow: %s", pod, out)
		}
		return nil
	})
}

// runsIn waits until a program can be run in a pod.
func (c cluster) runsIn(t *testing.T, pod string) error {
	t.Helper()
	return awaited(t.Context(), settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "exec", pod, "--", "tool", "say", "alive")
		if err != nil || strings.TrimSpace(out) != "alive" {
			return fmt.Errorf("exec in %s: %s", pod, out)
		}
		return nil
	})
}
