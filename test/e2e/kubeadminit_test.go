//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
)

const kubeadmYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-kubeadm
networking: {underlaySubnet: 10.199.0.0/24, podSubnet: 10.198.0.0/16, serviceSubnet: 10.197.0.0/16}
addons: {metricsServer: false, localStorage: false, gmsa: false}
nodes: [{os: linux, bare: true, count: 2}, {windowsVersion: ltsc2022, bare: true}]
`

// kubeadmHosts is a cluster of bare hosts on which kubeadm makes another one.
type kubeadmHosts struct {
	cluster
	// ignore is the flag of kubeadm by which it takes cgroup v1, where the machine has that.
	ignore []string
	// pods and services are the subnets of cluster.yaml, endpoint the address of the control planes.
	pods, services, endpoint string
	// linux are the names of the Linux hosts.
	linux []string
	// control is the host on which kubectl runs.
	control string
}

// TestFieldKubeadm makes a cluster by upstream's kubeadm on bare hosts of both systems, as the guide says.
func TestFieldKubeadm(t *testing.T) {
	h, nssm := newKubeadmHosts(t)
	h.pods = "10.198.0.0/16"
	h.services = "10.197.0.0/16"
	h.endpoint = "10.199.0.10:6443"
	h.linux = []string{"linux-1", "linux-2"}
	defer h.logs(t)

	h.up(t, kubeadmYAML)
	h.init(t)
	h.network(t, "linux-1")
	h.join(t, "linux-2")
	h.network(t, "linux-2")
	h.route(t, "linux-1", "linux-2")
	h.route(t, "linux-2", "linux-1")
	h.kubectl(t, "wait", "--for=condition=Ready", "node", "--all", "--timeout=180s")
	h.kubectl(t, "-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=180s")
	h.kubectl(t, "-n", "kube-system", "rollout", "status", "daemonset/kube-proxy", "--timeout=180s")
	h.tryPod(t)
	h.prepareWindows(t, "win-1", nssm)
	h.joinWindows(t, "win-1")
	h.proxyWindows(t, "win-1")
	h.routesWindows(t, "win-1", "linux-1", "linux-2")
	h.podsWindows(t, kubeadmPods)
	h.resetWindows(t, "win-1")

	// The kubelet is the host's: it comes back with it.
	h.must(t, "node", "restart", "linux-2")
	poll(t, settle, func(ctx context.Context) error {
		out, err := h.mullion(ctx, t, "node", "exec", "linux-2", "--", "systemctl", "is-active", "kubelet")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})

	for _, host := range []string{"linux-2", "linux-1"} {
		h.reset(t, host)
	}
}

// newKubeadmHosts returns the hosts and nssm.exe, or skips where something for it is missing.
func newKubeadmHosts(t *testing.T) (h kubeadmHosts, nssm string) {
	t.Helper()
	needs(t)

	h = kubeadmHosts{cluster: newCluster(t), control: "linux-1"}
	programs := bundle.At(h.bin, version.Kubernetes)
	for _, file := range []string{
		filepath.Join(programs.Server(), "kubeadm"), filepath.Join(programs.Node(), "kubeadm.exe"),
	} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("needs kubeadm: make kubeadm: %v", err)
		}
	}

	nssm = nssmProgram(t)
	if all, err := cgroup.Hierarchies(); err != nil {
		t.Fatal(err)
	} else if !all[0].V2 {
		h.ignore = []string{"--ignore-preflight-errors=SystemVerification"}
	}

	return h, nssm
}

// up brings bare hosts up, with the images that kubeadm wants.
func (h kubeadmHosts) up(t *testing.T, yaml string) {
	t.Helper()
	file := filepath.Join(h.home, "cluster.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { h.takeDown(t) })
	want := fmt.Sprintf("0 node(s) and %d bare host(s)", len(h.linux)+1)
	if out := h.must(t, "up", "-f", file, "--wait", "20m"); !strings.Contains(out, want) {
		t.Errorf("mullion up: %s", out)
	}
	last := h.linux[len(h.linux)-1]
	if out := h.must(t, "image", "kubeadm"); !regexp.MustCompile(`loaded \S+/etcd:\S+ on ` + last).MatchString(out) {
		t.Errorf("mullion image kubeadm: %s", out)
	}
}

// logs prints the logs of a test that failed.
func (h kubeadmHosts) logs(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	logs(t, h.cluster)
	for _, host := range h.linux {
		out, _ := h.mullion(t.Context(), t, "node", "exec", host, "--", "tail", "-n", "60", "/var/log/kubelet.log")
		t.Logf("== kubelet of %s\n%s", host, out)
	}
	out, _ := h.mullion(t.Context(), t, "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command",
		`Get-Content C:\var\log\kubelet\kubelet.err.log | Select-Object -Last 60`)
	t.Logf("== kubelet of win-1\n%s", out)
}

// must runs mullion, which has to end well within five minutes on a machine that is not busy.
func (h kubeadmHosts) must(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute*patience())
	defer cancel()
	out, err := h.mullion(ctx, t, args...)
	if err != nil {
		t.Fatalf("mullion %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// runs runs a program on a host.
func (h kubeadmHosts) runs(t *testing.T, host string, args ...string) string {
	t.Helper()
	return h.must(t, append([]string{"node", "exec", host, "--"}, args...)...)
}

// kubectl runs kubectl on a host of the control plane, where it asks the address of all.
func (h kubeadmHosts) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return h.runs(t, h.control, append([]string{"kubectl", "--kubeconfig=/etc/kubernetes/admin.conf"}, args...)...)
}

// writes writes a file of a host.
func (h kubeadmHosts) writes(t *testing.T, host, file, text string) {
	t.Helper()
	h.runs(t, host, "mkdir", "-p", filepath.Dir(file))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(h.bin, "mullion"), "node", "exec", host, "--", "tee", file)
	cmd.Env, cmd.Stdin = h.env(), strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write %s on %s: %v\n%.300s", file, host, err, out)
	}
}

// init is `kubeadm init` with the example's configuration, and returns what it prints.
func (h kubeadmHosts) init(t *testing.T, flags ...string) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/kubeadm/init.yaml")
	if err != nil {
		t.Fatal(err)
	}

	h.writes(t, "linux-1", "/root/init.yaml", strings.NewReplacer("10.244.0.0/16", h.pods, "10.96.0.0/16", h.services,
		"10.213.0.10:6443", h.endpoint).Replace(string(text)))
	began := time.Now()
	args := append([]string{"kubeadm", "init", "--config", "/root/init.yaml"}, flags...)
	out := h.runs(t, "linux-1", append(args, h.ignore...)...)
	if !strings.Contains(out, "control-plane has initialized successfully") || strings.Contains(out, "[WARNING Service") {
		t.Errorf("kubeadm init: %s", out)
	}
	t.Logf("kubeadm init took %.1fs", time.Since(began).Seconds())
	return out
}

// join is the command line that `kubeadm token create --print-join-command` prints, on another Linux host.
func (h kubeadmHosts) join(t *testing.T, host string) {
	t.Helper()
	h.joinBy(t, host, strings.Fields(h.runs(t, "linux-1", "kubeadm", "token", "create", "--print-join-command")))
}

// joinBy runs a command line of kubeadm's on a Linux host.
func (h kubeadmHosts) joinBy(t *testing.T, host string, command []string) {
	t.Helper()
	began := time.Now()
	out := h.runs(t, host, append(command, h.ignore...)...)
	if !strings.Contains(out, "This node has joined the cluster") {
		t.Errorf("%q: %s", command, out)
	}
	t.Logf("kubeadm join of %s took %.1fs", host, time.Since(began).Seconds())
}

// network gives a host's pods a network, by a CNI configuration with the node's range of addresses.
func (h kubeadmHosts) network(t *testing.T, host string) {
	t.Helper()
	text, err := os.ReadFile("../../examples/kubeadm/10-pods.conflist")
	if err != nil {
		t.Fatal(err)
	}
	h.writes(t, host, "/etc/cni/net.d/10-pods.conflist", strings.ReplaceAll(string(text), "10.244.0.0/24", h.podRange(t, host)))
}

// podRange returns the range of a node's pods, which the cluster has given it.
func (h kubeadmHosts) podRange(t *testing.T, node string) string {
	t.Helper()
	var cidr string
	until(t, settle, func() error {
		cidr = strings.TrimSpace(h.kubectl(t, "get", "node", node, "--ignore-not-found", "-o",
			"jsonpath={.spec.podCIDR}"))
		if cidr == "" {
			return fmt.Errorf("node %s has no range of addresses for pods", node)
		}
		return nil
	})
	return cidr
}

// route shows a host the way to another one's pods.
func (h kubeadmHosts) route(t *testing.T, host, to string) {
	t.Helper()
	h.runs(t, host, "ip", "route", "replace", h.podRange(t, to), "via", h.addressOf(t, to))
}

// addressOf returns a node's address on the underlay.
func (h kubeadmHosts) addressOf(t *testing.T, node string) string {
	t.Helper()
	return strings.TrimSpace(h.kubectl(t, "get", "node", node, "-o",
		`jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`))
}

// tryPod runs a pod on the node without a taint; it finds the API by CoreDNS and kube-proxy.
func (h kubeadmHosts) tryPod(t *testing.T) {
	t.Helper()
	h.agnhost(t, "linux")
	h.kubectl(t, "run", "try", "--image=mullion.local/agnhost:v1", "--image-pull-policy=Never", "--restart=Never",
		"--command", "--", "/agnhost", "connect", "kubernetes.default.svc.cluster.local:443", "--timeout=20s")
	h.kubectl(t, "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/try", "--timeout=180s")
}

// reset is `kubeadm reset`, after which nothing of the cluster runs on the host.
func (h kubeadmHosts) reset(t *testing.T, host string) {
	t.Helper()
	h.runs(t, host, "kubeadm", "reset", "-f")
	if out, err := h.mullion(t.Context(), t, "node", "exec", host, "--", "systemctl", "is-active", "kubelet"); err == nil ||
		!strings.Contains(out, "inactive") {
		t.Errorf("the kubelet of %s after reset: %s (%v)", host, out, err)
	}
	left := h.runs(t, host, "sh", "-c", "ls -A /etc/kubernetes/manifests /etc/kubernetes/pki /var/lib/kubelet 2>/dev/null; "+
		"grep /var/lib/kubelet /proc/mounts; /opt/mullion/bin/ctr -n k8s.io containers ls -q 2>/dev/null; "+
		"ip -br link | grep veth; true")
	left = regexp.MustCompile(`(?m)^(/\S+:)?\n`).ReplaceAllString(left, "")
	if strings.TrimSpace(left) != "" {
		t.Errorf("kubeadm reset left on %s:\n%s", host, left)
	}
}
