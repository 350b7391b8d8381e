//go:build cluster

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/vm/qemu"
)

const hypervYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-hyperv
networking: {underlaySubnet: 10.234.0.0/24, podSubnet: 10.234.64.0/18, serviceSubnet: 10.234.128.0/18}
addons: {metricsServer: false, localStorage: false}
nodes: [{name: hv-1, windowsVersion: ltsc2022}]
`

// hypervPods are a pod with a virtual machine of a size of its own, one that shares the machine's kernel, and one that
// wants more than its virtual machine has.
const hypervPods = `apiVersion: v1
kind: ConfigMap
metadata: {name: greeting}
data: {greeting.txt: Hello from a virtual machine}
---
apiVersion: v1
kind: Pod
metadata:
  name: isolated
  annotations:
    io.microsoft.virtualmachine.computetopology.processor.count: "1"
    io.microsoft.virtualmachine.computetopology.memory.sizeinmb: "768"
spec:
  runtimeClassName: runhcs-wcow-hypervisor
  containers:
  - name: web
    image: mullion.local/webserver:v1
    imagePullPolicy: Never
    args: ['-listen=:80', '-greeting=C:\config\greeting.txt']
    resources: {limits: {memory: 300Mi}}
    volumeMounts: [{name: config, mountPath: 'C:\config', readOnly: true}]
  volumes: [{name: config, configMap: {name: greeting}}]
---
apiVersion: v1
kind: Pod
metadata: {name: shared}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  containers: [{name: web, image: 'mullion.local/webserver:v1', imagePullPolicy: Never, args: ['-listen=:80']}]
---
apiVersion: v1
kind: Pod
metadata: {name: toolarge}
spec:
  runtimeClassName: runhcs-wcow-hypervisor
  containers:
  - {name: web, image: 'mullion.local/webserver:v1', imagePullPolicy: Never, resources: {limits: {memory: 2Gi}}}
`

// bootTime is how long a pod with a virtual machine may take to run: an emulated guest is slow, and slower on a busy
// machine.
const bootTime = 5 * time.Minute

// machinePattern matches the command line of a virtual machine.
const machinePattern = `qemu-system-x86_64 .*name=mullion`

// TestFieldHyperV has a pod with a kernel of its own: what people do with pods works, and whatever of it is killed, the
// pod comes back and nothing is left.
func TestFieldHyperV(t *testing.T) {
	needs(t)
	c := newCluster(t)
	if _, err := qemu.Find(c.bin); err != nil {
		t.Skipf("`make hyperv` gets what is missing: %v", err)
	}

	c.bringUp(t, hypervYAML)
	c.must(t, "image", "load", filepath.Join(c.bin, "webserver.tar"))
	c.must(t, "kubectl", "apply", "-f", c.file(t, "pods.yaml", hypervPods))
	begin := time.Now()
	c.podRuns(t, "isolated")
	t.Logf("the pod ran after %s", time.Since(begin).Round(time.Second))
	t.Run("kernel", c.ownKernel)
	t.Run("use", c.usesMachine)
	t.Run("refused", c.refusesMachine)
	t.Run("kill", c.killsMachine)
	c.must(t, "kubectl", "delete", "pod", "isolated", "--timeout=3m")
	until(t, settle, func() error {
		if left := c.machines(t); len(left) > 0 {
			return fmt.Errorf("machines of deleted pods: %v", slices.Collect(maps.Values(left)))
		}
		return nil
	})
}

func (c cluster) podRuns(t *testing.T, pod string) {
	t.Helper()
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/"+pod, "--timeout="+(bootTime*patience()).String())
}

// bootID returns the id of the boot of the kernel that a pod runs on.
func (c cluster) bootID(t *testing.T, pod string) string {
	t.Helper()
	out := c.must(t, "kubectl", "exec", pod, "--", "cmd", "/c", `type \\?\unix\proc\sys\kernel\random\boot_id`)
	return strings.TrimSpace(out)
}

// machines returns the cluster's virtual machines.
func (c cluster) machines(t *testing.T) map[int]string {
	t.Helper()
	found := c.processes(t)
	match := regexp.MustCompile(machinePattern)
	maps.DeleteFunc(found, func(_ int, command string) bool { return !match.MatchString(command) })
	return found
}

// ownKernel compares the pods' kernels with the machine's, from within and from without.
func (c cluster) ownKernel(t *testing.T) {
	c.podRuns(t, "shared")
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	boot := strings.TrimSpace(string(text))
	if got := c.bootID(t, "shared"); got != boot {
		t.Errorf("boot id %q in a pod without isolation, %q on the machine", got, boot)
	}

	isolated := c.bootID(t, "isolated")
	if len(isolated) != len(boot) || isolated == boot {
		t.Errorf("boot id %q in the isolated pod, %q on the machine", isolated, boot)
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}

	out := c.must(t, "kubectl", "exec", "isolated", "--", "cmd", "/c", `type \\?\unix\proc\sys\kernel\osrelease`)
	if out == string(release) || !strings.HasPrefix(out, "6.") {
		t.Errorf("kernel %q in the isolated pod, %q on the machine", out, release)
	}

	running := c.machines(t)
	users := map[string]bool{}
	for pid := range running {
		score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
		if n, convErr := strconv.Atoi(strings.TrimSpace(string(score))); err != nil || convErr != nil || n <= 0 {
			t.Errorf("for lack of memory others are killed before QEMU, whose score is %q, %v", score, err)
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || !regexp.MustCompile(`Uid:\t[1-9]`).Match(status) || !strings.Contains(string(status), "Seccomp:\t2") {
			t.Errorf("QEMU is root, or its system calls are not filtered: %v", err)
		}
		users[regexp.MustCompile(`Uid:\t[0-9]+`).FindString(string(status))] = true
	}

	if len(users) != len(running) {
		t.Errorf("machines have users in common: %v", users)
	}
	if len(running) != 2 { // isolated's and toolarge's
		t.Errorf("machines: %v", running)
	}
}

// usesMachine does what people do with pods.
func (c cluster) usesMachine(t *testing.T) {
	address := c.must(t, "kubectl", "get", "pod", "isolated", "-o", "jsonpath={.status.podIP}")
	resp, err := http.Get("http://" + address + "/") // The test's own end bounds it.
	if err != nil {
		t.Fatal(err)
	}

	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || !strings.Contains(string(body), "Hello from a virtual machine") ||
		!strings.Contains(string(body), "Host name: isolated") {
		t.Errorf("answer: %v\n%s", err, body)
	}
	if out := c.must(t, "kubectl", "logs", "isolated"); !strings.Contains(out, "msg=serving") {
		t.Errorf("logs: %s", out)
	}

	if out := c.must(t, "kubectl", "exec", "isolated", "--", "cmd", "/c", "echo %NUMBER_OF_PROCESSORS%"); strings.TrimSpace(out) != "1" {
		t.Errorf("processors: %s", out)
	}
	if out, err := c.mullion(t.Context(), t, "kubectl", "exec", "isolated", "--", "cmd", "/c", "exit 7"); err == nil ||
		!strings.Contains(out, "exit code 7") {
		t.Errorf("exit 7: %v: %s", err, out)
	}

	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "get", "--raw", "/api/v1/nodes/hv-1/proxy/stats/summary")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}

		var summary struct {
			Pods []struct {
				PodRef  struct{ Name string }
				Memory  struct{ WorkingSetBytes int64 }
				Network struct{ RxBytes int64 }
			}
		}

		if err := json.Unmarshal([]byte(out), &summary); err != nil {
			return err
		}
		for _, p := range summary.Pods {
			if p.PodRef.Name == "isolated" && p.Memory.WorkingSetBytes > 1<<20 && p.Network.RxBytes > 0 {
				return nil
			}
		}

		return errors.New("the node has no figures of the pod: " + out)
	})
}

// refusesMachine looks for why a container that wants more than its machine has is not made.
func (c cluster) refusesMachine(t *testing.T) {
	poll(t, bootTime, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "describe", "pod", "toolarge")
		if err == nil && !strings.Contains(out, "the memory limit of 2048 MB is more than the pod's virtual machine has") {
			err = errors.New(out)
		}
		return err
	})
}

// killsMachine kills what a machine is made of, one after the other.
func (c cluster) killsMachine(t *testing.T) {
	c.must(t, "kubectl", "delete", "pod", "toolarge", "--timeout=3m")
	boot := c.bootID(t, "isolated")
	for _, tc := range []struct {
		name, pattern string
		// goesOn says that the machine does not notice.
		goesOn bool
	}{
		{"agent", `mullion-node serve `, true},
		{"containerd", `/containerd --config`, true},
		{"qemu", machinePattern, false},
		{"virtiofsd", `virtiofsd --fd`, false},
		{"shim", `mullion-vm -namespace`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			match := regexp.MustCompile(tc.pattern)
			killed := c.processes(t)
			maps.DeleteFunc(killed, func(_ int, command string) bool { return !match.MatchString(command) })
			if len(killed) == 0 {
				t.Fatalf("no process matches %s", tc.pattern)
			}

			before := c.machines(t)
			for pid := range killed {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Fatal(err)
				}
			}

			c.back(t, tc.pattern, killed)
			var now string
			poll(t, bootTime, func(ctx context.Context) error {
				out, err := c.mullion(ctx, t, "kubectl", "exec", "isolated", "--", "cmd", "/c",
					`type \\?\unix\proc\sys\kernel\random\boot_id`)
				now = strings.TrimSpace(out)
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				if !tc.goesOn && now == boot {
					return errors.New("it is the boot before")
				}

				return nil
			})

			if tc.goesOn && now != boot {
				t.Errorf("the machine was booted again")
			}
			boot = now
			after := c.machines(t)
			if len(after) != 1 {
				t.Errorf("machines: %v, before: %v", after, before)
			}
		})
	}
}
