//go:build cluster

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
)

// agentYAML is a cluster that a bare Windows host joins by mullion-agent.exe, which brings the host's network.
const agentYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-agent
networking: {advertiseAddress: 198.51.100.30, underlaySubnet: 10.230.0.0/23, podSubnet: 10.231.0.0/17,
  serviceSubnet: 10.231.128.0/20, disableDefaultCNI: true}
addons: {metricsServer: false, localStorage: false}
nodes: [{name: bare-1, windowsVersion: ltsc2022, bare: true}, {name: linux-1, os: linux}]
`

// agentKubelet is what Wine and a full disk ask for: docs/windows-server.md.
const agentKubelet = `resolvConf: ""
evictionHard: {"nodefs.available": "100Mi", "imagefs.available": "100Mi"}
imageGCHighThresholdPercent: 100
`

const agentPod = `apiVersion: v1
kind: Pod
metadata: {name: win}
spec:
  os: {name: windows}
  nodeSelector: {kubernetes.io/os: windows}
  containers:
  - name: c
    image: mullion.local/agnhost-windows:v1
    imagePullPolicy: Never
    command: ['C:\agnhost.exe', netexec]
    readinessProbe: {httpGet: {port: 8080}}
`

// TestFieldWindowsAgent joins a bare Windows host by mullion-agent.exe, as a person joins a Windows Server, runs a pod
// there, upgrades a program, and leaves: the host is as it was.
func TestFieldWindowsAgent(t *testing.T) {
	needs(t)

	c := newCluster(t)
	c.netns = agentMachine(t)
	t.Cleanup(func() { c.takeDown(t) })
	c.must(t, "server", "-f", c.file(t, "cluster.yaml", agentYAML))
	c.layAgent(t)
	proxy, err := os.ReadFile(filepath.Join(bundle.At(c.bin, version.Kubernetes).Node(), "kube-proxy.exe"))
	if err != nil {
		t.Fatal(err)
	}

	c.must(t, "node", "exec", "bare-1", "--", "cmd", "/c", `mkdir C:\new`)
	c.must(t, "node", "cp", c.file(t, "new.exe", string(proxy)+"another"), "bare-1:C:/new/kube-proxy.exe")
	run := func(args ...string) (string, error) {
		on := []string{"node", "shell", "bare-1", "--", `C:\bundle\mullion-agent.exe`}
		return c.mullion(t.Context(), t, append(on, args...)...)
	}

	does := func(wants string, args ...string) {
		t.Helper()
		began := time.Now()
		out, err := run(args...)
		if err != nil || !strings.Contains(out, wants) {
			logs(t, c)
			t.Fatalf("mullion-agent %s: %v\n%s", args[0], err, out)
		}
		t.Logf("mullion-agent %s took %.1fs", args[0], time.Since(began).Seconds())
	}

	before := c.bareState(t)
	server, token, hash := c.agentLine(t)
	for says, args := range map[string][]string{
		"the cluster's authority is another one": agentJoin(server, token, "sha256:"+strings.Repeat("a", 64)),
		"the token is unknown or has expired":    agentJoin(server, "abcdef.0123456789abcdef", hash),
	} {
		if out, err := run(args...); err == nil || !strings.Contains(out, says) {
			t.Errorf("not refused: %v\n%s", err, out)
		}
	}

	if now := c.bareState(t); now != before {
		t.Errorf("a join that was refused changed the host:\n%s\nwas\n%s", now, before)
	}

	does("node bare-1 is Ready", agentJoin(server, token, hash)...)
	c.agentPodAnswers(t, c.file(t, "pod.yaml", agentPod))
	does(`replaced C:\k\kube-proxy.exe`, "upgrade", "--bundle", `C:\new`)
	does(`"ready": true`, "status", "-o", "json")
	does("nothing of node bare-1 is left", "leave", "--delete-node")
	if now := c.bareState(t); now != before {
		t.Errorf("leave left the host as\n%s\nit was\n%s", now, before)
	}

	if out, err := c.mullion(t.Context(), t, "kubectl", "get", "node", "bare-1"); err == nil {
		t.Errorf("the Node is still there: %s", out)
	}
}

// layAgent puts the agent and what it installs into C:\bundle of the bare host.
func (c cluster) layAgent(t *testing.T) {
	t.Helper()
	windows := filepath.Join(c.bin, "windows")
	agent := filepath.Join(windows, "mullion-agent.exe")
	if _, err := os.Stat(agent); err != nil {
		t.Fatalf("%v: `make agent` builds it", err)
	}

	config := filepath.Join(c.home, "kubelet.yaml")
	if err := os.WriteFile(config, []byte(agentKubelet), 0o600); err != nil {
		t.Fatal(err)
	}

	node := bundle.At(c.bin, version.Kubernetes).Node()
	c.must(t, "node", "exec", "bare-1", "--", "cmd", "/c", `mkdir C:\bundle`)
	for _, from := range []string{
		agent, filepath.Join(node, "kubelet.exe"), filepath.Join(node, "kube-proxy.exe"),
		filepath.Join(windows, "win-bridge.exe"), filepath.Join(windows, "host-local.exe"), config,
	} {
		c.must(t, "node", "cp", from, "bare-1:C:/bundle/"+filepath.Base(from))
	}
}

// agentLine returns what `mullion token create --print-windows` prints of a join: server, token, hash.
func (c cluster) agentLine(t *testing.T) (server, token, hash string) {
	t.Helper()
	line := c.must(t, "token", "create", "--print-windows")
	m := regexp.MustCompile(`join (\S+) --token (\S+) --discovery-token-ca-cert-hash (\S+) --bundle`).
		FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("mullion token create --print-windows: %s", line)
	}
	return m[1], m[2], m[3]
}

// agentJoin returns the command of a join of the bare host.
func agentJoin(server, token, hash string) []string {
	return []string{
		"join", server, "--token", token, "--discovery-token-ca-cert-hash", hash, "--bundle", `C:\bundle`,
		"--runtime-endpoint", "npipe:////./pipe/containerd-containerd", "--kubelet-config", `C:\bundle\kubelet.yaml`,
	}
}

// agentMachine returns a network namespace that stands for the cluster's machine, with the address that it advertises.
func agentMachine(t *testing.T) string {
	t.Helper()
	ns := fmt.Sprintf("agent-%d", os.Getpid())
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", ns).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	script := `set -e; ip netns add $0; ip -n $0 link set lo up; ip -n $0 link add eth0 type veth peer name eth1
ip -n $0 addr add 198.51.100.30/24 dev eth0; ip -n $0 link set eth0 up; ip -n $0 link set eth1 up`
	if out, err := exec.Command("sh", "-c", script, ns).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return "/run/netns/" + ns
}

// bareState returns what the agent could leave on the host: files, services, and the objects of HNS.
func (c cluster) bareState(t *testing.T) string {
	t.Helper()
	state := c.must(t, "node", "exec", "bare-1", "--", "cmd", "/c",
		`dir /s /b C:\k C:\opt C:\etc C:\var & dir /b C:\ProgramData & `+
			`sc query type= service state= all | findstr SERVICE_NAME`)
	for line := range strings.Lines(c.must(t, "hns", "ls", "bare-1")) {
		if !strings.Contains(line, "HostDefault") && strings.TrimSpace(line) != "" { // the host's own namespace
			state += line
		}
	}
	return state
}

// agentPodAnswers runs a pod on the host and asks it from the Linux node.
func (c cluster) agentPodAnswers(t *testing.T, file string) {
	t.Helper()
	c.agnhost(t, "windows")
	c.must(t, "kubectl", "apply", "-f", file)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/win", "--timeout=180s")
	ip := c.must(t, "kubectl", "get", "pod", "win", "-o", "jsonpath={.status.podIP}")
	out := c.must(t, "node", "exec", "linux-1", "--", "bash", "-c",
		`exec 3<>/dev/tcp/`+ip+`/8080; printf 'GET /hostname HTTP/1.0\r\n\r\n' >&3; cat <&3`)
	if !strings.HasSuffix(strings.TrimSpace(out), "win") {
		t.Errorf("the pod answers the Linux node: %s", out)
	}
}
