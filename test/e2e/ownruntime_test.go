//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// ownRuntimeYAML is a cluster whose proxy for pulling is not there, with a node whose kubelet calls containerd.exe, one
// with Mullion's own runtime, and a Linux node.
const ownRuntimeYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-ctdnode
networking: {underlaySubnet: 10.219.0.0/24, podSubnet: 10.69.0.0/16, serviceSubnet: 10.169.0.0/16}
proxy: {httpsProxy: 'http://10.219.0.1:9'}
nodes:
- {os: linux, taint: true}
- {name: ctd-1, runtime: containerd}
- {name: own-1}
`

// ownRuntimePods are a pod of an image that stands in for Windows' base, one of an image to be pulled, one that is to
// be a HostProcess pod, and one that is to have a virtual machine, on the node with containerd.exe.
const ownRuntimePods = `apiVersion: v1
kind: Pod
metadata: {name: base, labels: {app: base}}
spec:
  nodeName: ctd-1
  containers:
  - name: c
    image: mcr.microsoft.com/windows/nanoserver:ltsc2025
    imagePullPolicy: IfNotPresent
    command: [cmd, /c, 'echo hello from %COMPUTERNAME%& ping -n 3600 127.0.0.1 >nul']
---
apiVersion: v1
kind: Pod
metadata: {name: pulled}
spec:
  nodeName: ctd-1
  containers:
  - {name: c, image: 'registry.example.com/app:1'}
---
apiVersion: v1
kind: Pod
metadata: {name: hyperv}
spec:
  nodeName: ctd-1
  runtimeClassName: runhcs-wcow-hypervisor
  containers:
  - {name: c, image: 'mcr.microsoft.com/windows/nanoserver:ltsc2025', command: [ping, -n, '3600', 127.0.0.1]}
---
apiVersion: v1
kind: Pod
metadata: {name: hostprocess}
spec:
  nodeName: ctd-1
  hostNetwork: true
  securityContext: {windowsOptions: {hostProcess: true, runAsUserName: 'NT AUTHORITY\SYSTEM'}}
  containers:
  - {name: c, image: 'mcr.microsoft.com/windows/nanoserver:ltsc2025', command: [ping, -n, '3600', 127.0.0.1]}
`

// TestFieldContainerdNode brings up a node whose kubelet calls upstream's containerd.exe (runtime: containerd). Its
// pods are on the cluster's network, people see into them, and they outlive kills of what is below them; what the node
// does not carry out is refused with a reason.
func TestFieldContainerdNode(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	needs(t, ownCluster("the test has subnets of its own"),
		program("containerd-windows/containerd-shim-runhcs-v1.exe", "containerd.exe", "containerd-windows"))

	c := newCluster(t)
	c.bringUp(t, ownRuntimeYAML, "--wait", "15m") // on a busy machine
	c.jsonpath(t, `^containerd://2\.`, "node", "ctd-1", "{.status.nodeInfo.containerRuntimeVersion}")
	c.apply(t, ownRuntimePods)
	c.ready(t, "base")
	if out := c.must(t, "kubectl", "logs", "base"); !strings.Contains(out, "hello from BASE") {
		t.Errorf("the pod's log: %s", out)
	}

	if out := c.must(t, "logs", "containerd/ctd-1"); !strings.Contains(out, "successfully booted") {
		t.Errorf("containerd's log: %s", out)
	}
	if out := c.must(t, "image", "ls", "--node", "ctd-1"); !strings.Contains(out, "mullion.local/pause:v1") {
		t.Errorf("the node's images: %s", out)
	}

	t.Run("refused", c.refusesOnContainerd)
	t.Run("network", func(t *testing.T) { c.netTest(t, "l2bridge") })
	t.Run("kills", c.killsContainerd)
	c.must(t, "kubectl", "delete", "pod", "--all", "--timeout=3m")
	until(t, time.Minute, func() error { // containerd collects snapshots in its own time
		left, err := os.ReadDir(filepath.Join(c.data, "nodes", "ctd-1", "hcs", "scratch"))
		if len(left) > 0 || err != nil {
			return fmt.Errorf("left of the containers: %v, %w", left, err)
		}
		return nil
	})
}

// refusesOnContainerd looks for the events that say why pods do not run.
func (c cluster) refusesOnContainerd(t *testing.T) {
	for pod, why := range map[string]string{"pulled": "proxyconnect tcp: dial tcp 10.219.0.1:9", "hyperv": "utility VM", "hostprocess": "job object"} {
		poll(t, 2*settle, func(ctx context.Context) error {
			out, err := c.mullion(ctx, t, "kubectl", "get", "events", "--field-selector", "involvedObject.name="+pod,
				"-o", "jsonpath={range .items[*]}{.reason}: {.message}{\"\\n\"}{end}")
			return lacks(out, why, err)
		})
		c.must(t, "kubectl", "delete", "pod", pod, "--timeout=3m")
	}
}

// killsContainerd kills what is below a pod. Where it is not the pod's own shim, the pod goes on; a killed shim is a
// container that has ended, and the kubelet starts another.
func (c cluster) killsContainerd(t *testing.T) {
	restarts := func() string {
		return c.must(t, "kubectl", "get", "pod", "base", "-o", "jsonpath={.status.containerStatuses[0].restartCount}")
	}

	works := func() {
		t.Helper()
		poll(t, 3*time.Minute, func(ctx context.Context) error {
			out, err := c.mullion(ctx, t, "kubectl", "exec", "base", "--", "cmd", "/c", "echo alive")
			return lacks(out, "alive", err)
		})
	}

	before := restarts()
	// The shim's command line names containerd.exe, too, but not its configuration.
	for _, pattern := range []string{`\\containerd\.exe --config`, `mullion-node serve .*ctd-1`} {
		c.kill(t, pattern)
		works()
	}
	if got := restarts(); got != before {
		t.Errorf("the pod's container was restarted: %s times, and %s before", got, before)
	}

	c.kill(t, `containerd-shim-runhcs-v1\.exe`)
	poll(t, 3*time.Minute, func(context.Context) error {
		if restarts() == before {
			return errors.New("the container of a killed shim was not restarted")
		}
		return nil
	})
	works()
}
