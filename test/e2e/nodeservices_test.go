//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/test/documents"
)

const nodeServicesYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-services
networking: {underlaySubnet: 10.217.0.0/24, podSubnet: 10.247.0.0/16, serviceSubnet: 10.98.0.0/16}
addons: {metricsServer: false, localStorage: false}
nodes:
- windowsVersion: ltsc2022
  kubeletConfiguration: {shutdownGracePeriod: 12s, shutdownGracePeriodCriticalPods: 6s}
`

// toldPodsYAML are an ordinary pod and a critical one, of which neither ends before it must.
const toldPodsYAML = `apiVersion: v1
kind: Pod
metadata: {name: ordinary}
spec:
  containers: [{name: c, image: "mcr.microsoft.com/windows/servercore:ltsc2022", command: [ping, -t, localhost]}]
---
apiVersion: v1
kind: Pod
metadata: {name: critical, namespace: kube-system}
spec:
  priorityClassName: system-node-critical
  containers: [{name: c, image: "mcr.microsoft.com/windows/servercore:ltsc2022", command: [ping, -t, localhost]}]
`

// TestFieldNodeServices: the kubelet and kube-proxy of a Windows node are services of its host. What ends them is
// mended, a person's stop is shown and left alone.
func TestFieldNodeServices(t *testing.T) {
	needs(t)
	s := sampler{
		cluster: newCluster(t),
		tools:   t.TempDir(),
		node:    "win-1",
	}

	file := filepath.Join(s.home, "cluster.yaml")
	if err := os.WriteFile(file, []byte(nodeServicesYAML), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { s.takeDown(t) })
	s.does(t, "up", "-f", file)
	defer func() {
		if t.Failed() {
			logs(t, s.cluster)
		}
	}()

	see := func(run, want string) {
		t.Helper()
		s.see(t, documents.Step{
			On:   documents.NodePowerShell,
			Run:  run,
			Want: want,
		})
	}
	s.idle(t)
	see("Get-Service kubelet, kube-proxy", `(?m)Running +kubelet.*Running +kube-proxy`)
	see(`(Get-Item C:\var\log\kubelet\kubelet.log).Length -gt 1000`, "True")
	if out := s.does(t, "logs", "kubelet/win-1", "--tail", "100000"); !strings.Contains(out, "mullion-service: kubelet runs") ||
		!strings.Contains(out, "win-1") {
		t.Errorf("mullion logs: %.2000s", out)
	}

	// Whichever process is killed, another comes.
	for _, pattern := range []string{
		`^C:\\k\\kubelet\.exe `, `^C:\\Windows\\System32\\mullion-service\.exe .*--name kubelet `, `^C:\\k\\kube-proxy\.exe `,
	} {
		s.back(t, pattern, s.kill(t, pattern))
		s.ready(t)
	}

	see("Stop-Service kubelet; (Get-Service kubelet).Status", "Stopped")
	halted := func() {
		t.Helper()
		poll(t, settle, func(ctx context.Context) error {
			out, err := s.mullion(ctx, t, "status")
			if err == nil || !strings.Contains(out, "it was stopped by hand") || !strings.Contains(out, "`mullion node start win-1`") {
				return fmt.Errorf("status: %v\n%s", err, out)
			}
			return nil
		})
	}
	halted()
	s.does(t, "up")
	halted()
	if out, err := s.mullion(t.Context(), t, "diagnose"); !strings.Contains(out, "[node-service-stopped]") {
		t.Errorf("mullion diagnose: %v\n%s", err, out)
	}

	s.does(t, "node", "start", "win-1")
	s.ready(t)
	see("(Get-Service kubelet).Status", "Running")
	see("Stop-Service kube-proxy; (Get-Service kube-proxy).Status", "Stopped")
	see("Start-Service kube-proxy; (Get-Service kube-proxy).Status", "Running")
	s.ready(t)
	s.does(t, "node", "restart", "win-1")
	s.ready(t)
	s.shutsDown(t)
}

// shutsDown restarts the host from within. kubelet.exe ends the node's pods before, those that are critical last, as
// https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/ says.
func (s sampler) shutsDown(t *testing.T) {
	t.Helper()
	file := filepath.Join(s.home, "pods.yaml")
	if err := os.WriteFile(file, []byte(toldPodsYAML), 0o600); err != nil {
		t.Fatal(err)
	}

	s.does(t, "kubectl", "apply", "-f", file)
	pods := map[string]string{"ordinary": "default", "critical": "kube-system"}
	for pod, namespace := range pods {
		s.does(t, "kubectl", "-n", namespace, "wait", "--for=condition=Ready", "pod/"+pod, "--timeout=180s")
	}

	s.does(t, "node", "exec", "win-1", "--", "shutdown", "/r", "/t", "0")
	ended := map[string]time.Time{}
	for pod, namespace := range pods {
		poll(t, settle, func(ctx context.Context) error {
			out, err := s.mullion(ctx, t, "kubectl", "-n", namespace, "get", "pod", pod, "-o", "jsonpath="+
				`{.status.phase} {.status.reason} {.status.conditions[?(@.type=="DisruptionTarget")].lastTransitionTime}`)
			if err != nil || !strings.HasPrefix(out, "Failed Terminated ") {
				return fmt.Errorf("pod %s: %q, %w", pod, out, err)
			}
			ended[pod], err = time.Parse(time.RFC3339, strings.Fields(out)[2])
			return err
		})
	}

	if !ended["critical"].After(ended["ordinary"]) {
		t.Errorf("the pods were told to end at %v", ended)
	}

	poll(t, settle, func(ctx context.Context) error {
		out, err := s.mullion(ctx, t, "kubectl", "get", "events", "--field-selector", "involvedObject.name=win-1")
		if err != nil || !strings.Contains(out, "Shutdown manager detected preshutdown event") ||
			!strings.Contains(out, "Rebooted") {
			return fmt.Errorf("events of the node: %s, %w", out, err)
		}
		return nil
	})
	s.ready(t)
}

// ready waits until the cluster is healthy.
func (s sampler) ready(t *testing.T) {
	t.Helper()
	poll(t, settle, func(ctx context.Context) error {
		out, err := s.mullion(ctx, t, "status")
		if err == nil && !regexp.MustCompile(`win-1 +yes `).MatchString(out) {
			err = errors.New("the node is not ready")
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// idle logs what processor time the host's processes take while nothing happens.
func (s sampler) idle(t *testing.T) {
	t.Helper()
	const span = 20 * time.Second
	time.Sleep(span / 2) // it has just started
	before := s.times(t)
	time.Sleep(span)
	for pid, now := range s.times(t) {
		if took := now.ticks - before[pid].ticks; took > 0 {
			t.Logf("%5.1f thousandths of a processor: %.90s", float64(took)*10/span.Seconds(), now.command)
		}
	}
}

// ticks is the processor time of a process in hundredths of a second.
type ticks struct {
	ticks   int64
	command string
}

func (s sampler) times(t *testing.T) map[int]ticks {
	t.Helper()
	all := map[int]ticks{}
	for pid, command := range s.processes(t) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // it may have ended
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			continue
		}

		var user, system int64
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			t.Fatal(err)
		}
		all[pid] = ticks{user + system, command}
	}

	return all
}
