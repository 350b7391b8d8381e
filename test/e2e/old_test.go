//go:build cluster

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// oldVersion is the Kubernetes of which the documents about Windows nodes speak.
const oldVersion = "v1.20.15"

// oldCluster has nodes of the build that those documents ask for, and one of a build that has version 1 of HNS alone.
// The first has the flags of the documents' kubelet, but for --allow-privileged, which is gone since 1.15, and those
// that Mullion sets.
// https://v1-20.docs.kubernetes.io/docs/setup/production-environment/windows/intro-windows-in-kubernetes/#troubleshooting
const oldCluster = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-old
kubernetesVersion: "1.20"
nodes:
- windowsVersion: ltsc2019
  kubeletExtraArgs:
  - {name: v, value: "6"}
  - {name: pod-infra-container-image, value: kubeletwin/pause}
  - {name: enable-debugging-handlers, value: "true"}
  - {name: hairpin-mode, value: promiscuous-bridge}
  - {name: image-pull-progress-deadline, value: 20m}
  - {name: enforce-node-allocatable, value: ""}
  - {name: network-plugin, value: cni}
  - {name: cni-bin-dir, value: 'c:\k\cni'}
  - {name: cni-conf-dir, value: 'c:\k\cni\config'}
  - {name: feature-gates, value: HyperVContainer=true}
- windowsVersion: ltsc2019
- windowsVersion: "1709"
  taint: true
`

// oldMixed has a Linux node, too.
const oldMixed = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-oldmixed
kubernetesVersion: "1.20"
addons: {metricsServer: false, localStorage: false}
nodes:
- {name: linux-1, os: linux}
- {name: win-1, windowsVersion: ltsc2019}
`

// oldMixedPods are a server of each system, behind a Service each.
const oldMixedPods = `apiVersion: v1
kind: Pod
metadata: {name: win, labels: {app: win}}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  containers:
  - name: c
    image: mullion.local/agnhost-windows:v1
    imagePullPolicy: Never
    command: ['C:\agnhost.exe', netexec]
    readinessProbe: {httpGet: {port: 8080}}
---
apiVersion: v1
kind: Pod
metadata: {name: lin, labels: {app: lin}}
spec:
  nodeSelector: {kubernetes.io/os: linux}
  containers:
  - name: c
    image: mullion.local/agnhost:v1
    imagePullPolicy: Never
    command: [/agnhost, netexec]
    readinessProbe: {httpGet: {port: 8080}}
    resources: {limits: {memory: 200Mi, cpu: "1"}}
---
apiVersion: v1
kind: Service
metadata: {name: win}
spec: {selector: {app: win}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: lin}
spec: {type: NodePort, selector: {app: lin}, ports: [{port: 80, targetPort: 8080}]}
`

// oldPod runs on the node of the old build.
const oldPod = `apiVersion: v1
kind: Pod
metadata: {name: old-build}
spec:
  nodeSelector: {node.kubernetes.io/windows-build: 10.0.16299}
  tolerations: [{key: os, value: windows, effect: NoSchedule}]
  terminationGracePeriodSeconds: 1
  containers:
  - name: waits
    image: mcr.microsoft.com/windows/servercore:1709
    command: [cmd, /c, ping -n 3600 127.0.0.1]
`

// TestFieldOldCluster brings up a cluster whose control plane and nodes are Kubernetes 1.20, on a machine that reaches
// no registry, and follows the first page of the documents of that version on it.
func TestFieldOldCluster(t *testing.T) {
	needs(t, kubernetes(oldVersion))

	c, given := givenCluster(t)
	if !given {
		c.netns = offline(t)
		said := c.bringUp(t, oldCluster)
		if !strings.Contains(said, "Kubernetes "+oldVersion+": ") {
			t.Errorf("up does not say what the cluster lacks:\n%s", said)
		}
	}

	c.kubeletVersions(t, map[string]string{"win-1": oldVersion, "win-2": oldVersion, "win-3": oldVersion})
	if out := c.must(t, "kubectl", "version", "--short"); strings.Count(out, oldVersion) != 2 {
		t.Errorf("client and server: %s", out)
	}

	t.Run("page", c.oldPage)
	t.Run("programs", c.oldPrograms)
	t.Run("figures", c.oldFigures)
}

// TestFieldOldLinux brings up a cluster of Kubernetes 1.20 with a Linux node, whose kubelet calls the containerd 1.7 of
// the bundle and whose kube-proxy runs iptables, beside a Windows node. Pods of each reach the other's Service.
func TestFieldOldLinux(t *testing.T) {
	needs(t, kubernetes(oldVersion), containerdOf(oldVersion),
		installed("iptables", "iptables")) // which kube-proxy of 1.20 runs

	c := newCluster(t)
	c.netns = offline(t)
	c.bringUp(t, oldMixed)
	c.kubeletVersions(t, map[string]string{"linux-1": oldVersion, "win-1": oldVersion})
	c.prints(t, "containerd://1.7.", "kubectl", "get", "node", "linux-1", "-o", "wide")

	c.agnhost(t, "windows")
	c.agnhost(t, "linux")
	pods := c.apply(t, oldMixedPods)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/win", "pod/lin", "--timeout=3m")

	for from, to := range map[string]string{"lin": "win", "win": "lin"} {
		c.prints(t, `{"responses":["`+to+`"]}`, "kubectl", "get", "--raw", "/api/v1/namespaces/default/pods/http:"+from+
			":8080/proxy/dial?host="+to+".default.svc.cluster.local&port=80&protocol=http&request=hostname&tries=1")
	}
	c.must(t, "kubectl", "exec", "lin", "--", "/agnhost", "connect", "--timeout=5s", "lin.default.svc.cluster.local:80")
	c.prints(t, "HTTP", "kubectl", "logs", "lin")
	c.prints(t, "ok", "kubectl", "get", "--raw", "/api/v1/nodes/linux-1/proxy/healthz")

	port := c.must(t, "kubectl", "get", "service", "lin", "-o", "jsonpath={.spec.ports[0].nodePort}")
	address := c.must(t, "kubectl", "get", "node", "linux-1", "-o", "jsonpath={.status.addresses[0].address}")
	poll(t, settle, func(ctx context.Context) error {
		return c.fetch(ctx, "http://"+net.JoinHostPort(address, port)+"/hostname", "lin")
	})

	// The node's parts end and come back, and its pod lives on.
	c.kill(t, `kubernetes/containerd\b`)
	c.kill(t, `kubernetes/kube-proxy\b`)
	c.prints(t, `{"responses":["lin"]}`, "kubectl", "get", "--raw", "/api/v1/namespaces/default/pods/http:win:8080/proxy/"+
		"dial?host=lin.default.svc.cluster.local&port=80&protocol=http&request=hostname&tries=1")
	c.must(t, "kubectl", "delete", "-f", pods, "--timeout=2m")
}

// oldPage applies the manifest of the page, and asks its Service from outside, by its node port and by an address of
// its own, and by its name from pods, of which one is on a node where kube-proxy.exe calls version 1 of HNS.
// https://v1-20.docs.kubernetes.io/docs/setup/production-environment/windows/user-guide-windows-containers/
func (c cluster) oldPage(t *testing.T) {
	text, err := os.ReadFile("../../examples/kubernetes-docs/win-webserver.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// The page of 1.20 differs from today's by this label alone.
	page := strings.ReplaceAll(string(text), "app.kubernetes.io/name: win-webserver", "app: win-webserver")
	c.apply(t, page)
	c.apply(t, oldPod)
	c.must(t, "kubectl", "rollout", "status", "deployment/win-webserver", "--timeout=4m")
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/old-build", "--timeout=2m")
	c.must(t, "kubectl", "expose", "deployment/win-webserver", "--name=balanced", "--port=80", "--type=LoadBalancer")
	port := c.must(t, "kubectl", "get", "service", "win-webserver", "-o", "jsonpath={.spec.ports[0].nodePort}")

	const title = "<H1>Windows Container Web Server</H1>"
	for _, at := range []struct{ object, address, port string }{
		{"node/win-1", "{.status.addresses[0].address}", port},
		{"service/balanced", "{.status.loadBalancer.ingress[0].ip}", "80"},
	} {
		poll(t, settle, func(ctx context.Context) error {
			address, err := c.mullion(ctx, t, "kubectl", "get", at.object, "-o", "jsonpath="+at.address)
			if err != nil {
				return lacks(address, "", err)
			}
			return c.fetch(ctx, "http://"+net.JoinHostPort(address, at.port)+"/", title)
		})
	}

	for _, pod := range append(c.oldPods(t), "old-build") {
		poll(t, settle, func(ctx context.Context) error {
			out, err := c.mullion(ctx, t, "kubectl", "exec", pod, "--", "curl.exe", "-fsS", "--max-time", "10",
				"http://win-webserver/")
			return lacks(out, title, err)
		})
	}
}

// oldPrograms runs programs in a pod, reads its log and gives its Deployment more pods.
func (c cluster) oldPrograms(t *testing.T) {
	const of = "deployment/win-webserver"
	if out := c.must(t, "kubectl", "exec", of, "--", "cmd", "/c", "ver"); !strings.Contains(out, "Microsoft Windows ") {
		t.Errorf("cmd /c ver: %s", out)
	}
	if out, err := c.mullion(t.Context(), t, "kubectl", "exec", of, "--", "cmd", "/c", "exit 7"); err == nil ||
		!strings.Contains(out, "exit code 7") {
		t.Errorf("a program that fails: %v, %s", err, out)
	}
	if out := c.must(t, "kubectl", "logs", of); !strings.Contains(out, "Listening at http://*:80/") {
		t.Errorf("logs: %s", out)
	}

	c.must(t, "kubectl", "scale", of, "--replicas=3")
	c.must(t, "kubectl", "rollout", "status", of, "--timeout=3m")
}

// oldFigures reads what the kubelet and metrics-server say of the pods. The traffic of pods comes by the Host Compute
// Service.
func (c cluster) oldFigures(t *testing.T) {
	poll(t, 2*settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "top", "pods")
		return lacks(out, "win-webserver-", err)
	})
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "get", "--raw", "/api/v1/nodes/win-1/proxy/stats/summary")
		if err != nil {
			return lacks(out, "", err)
		}
		return trafficIn(out)
	})
}

// trafficIn returns an error unless a pod in a kubelet's summary has received something.
func trafficIn(summary string) error {
	var s struct {
		Pods []struct {
			Network struct {
				RxBytes uint64 `json:"rxBytes"`
			} `json:"network"`
		} `json:"pods"`
	}
	if err := json.Unmarshal([]byte(summary), &s); err != nil {
		return err
	}

	for _, p := range s.Pods {
		if p.Network.RxBytes > 0 {
			return nil
		}
	}
	return fmt.Errorf("no pod has received anything: %s", summary)
}

// oldPods returns the pods of the page.
func (c cluster) oldPods(t *testing.T) []string {
	t.Helper()
	pods := strings.Fields(c.must(t, "kubectl", "get", "pods", "-l", "app=win-webserver", "-o",
		"jsonpath={.items[*].metadata.name}"))
	if len(pods) < 2 {
		t.Fatalf("pods of the page: %q", pods)
	}
	return pods
}
