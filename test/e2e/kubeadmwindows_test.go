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
)

// kubeadmPods are a server of each system, behind a Service each.
const kubeadmPods = `apiVersion: v1
kind: Pod
metadata: {name: win, labels: {app: win}}
spec:
  os: {name: windows}
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
---
apiVersion: v1
kind: Service
metadata: {name: win}
spec: {selector: {app: win}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: lin}
spec: {selector: {app: lin}, ports: [{port: 80, targetPort: 8080}]}
`

// powershell runs a command of PowerShell on a Windows host.
func (h kubeadmHosts) powershell(t *testing.T, host, command string) string {
	t.Helper()
	return h.runs(t, host, "powershell", "-NoProfile", "-Command", command)
}

// prepareWindows does on a Windows host what a person does before a join.
func (h kubeadmHosts) prepareWindows(t *testing.T, host, nssm string) {
	t.Helper()
	h.must(t, "node", "cp", nssm, host+":C:/Windows/nssm.exe")
	h.must(t, "node", "cp", "../../examples/kubeadm/prepare-node.ps1", host+":C:/k/prepare-node.ps1")
	out := h.must(t, "node", "shell", host, "--", "powershell", "-File", `C:\k\prepare-node.ps1`)
	out = strings.ReplaceAll(out, "\x00", "") // nssm writes UTF-16 to a pipe too
	if !strings.Contains(out, `Service "kubelet" installed successfully!`) {
		t.Errorf("prepare-node.ps1: %s", out)
	}
}

// joinWindows is the command line that `kubeadm token create --print-join-command` prints, on a Windows host.
func (h kubeadmHosts) joinWindows(t *testing.T, host string) {
	t.Helper()
	command := strings.Fields(h.runs(t, "linux-1", "kubeadm", "token", "create", "--print-join-command"))
	began := time.Now()
	out := h.must(t, append([]string{"node", "shell", host, "--"}, command...)...)
	if !strings.Contains(out, "This node has joined the cluster") || strings.Contains(out, "[WARNING ") {
		t.Errorf("%q: %s", command, out)
	}
	t.Logf("kubeadm join of %s took %.1fs", host, time.Since(began).Seconds())
	h.kubectl(t, "wait", "--for=create", "node/"+host, "--timeout=180s")
	h.kubectl(t, "wait", "--for=condition=Ready", "node/"+host, "--timeout=180s")
	if state := h.powershell(t, host, "(Get-Service kubelet).Status"); strings.TrimSpace(state) != "Running" {
		t.Errorf("the kubelet's service is %s", state)
	}
}

// proxyWindows makes kube-proxy a service of a Windows host, with a kubeconfig that kubeadm makes.
func (h kubeadmHosts) proxyWindows(t *testing.T, host string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kube-proxy.conf")
	text := h.runs(t, "linux-1", "kubeadm", "kubeconfig", "user", "--config", "/root/init.yaml",
		"--client-name", "system:kube-proxy")
	if err := os.WriteFile(file, []byte(text[strings.Index(text, "apiVersion:"):]), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must(t, "node", "cp", file, host+":C:/etc/kubernetes/kube-proxy.conf")
	h.runs(t, host, "sc.exe", "create", "kube-proxy", "start=", "auto", "binPath=",
		`C:\k\kube-proxy.exe --windows-service --proxy-mode=kernelspace --network-name=cbr0 --hostname-override=`+host+
			` --cluster-cidr=`+h.pods+` --kubeconfig=C:\etc\kubernetes\kube-proxy.conf`)
	h.runs(t, host, "sc.exe", "start", "kube-proxy")
}

// routesWindows shows a Windows host and Linux hosts the ways to each other's pods.
func (h kubeadmHosts) routesWindows(t *testing.T, host string, linux ...string) {
	t.Helper()
	for _, to := range linux {
		h.route(t, to, host)
		h.powershell(t, host, fmt.Sprintf("New-NetRoute -DestinationPrefix %s -NextHop %s -InterfaceIndex "+
			"(Get-NetRoute -DestinationPrefix 0.0.0.0/0).InterfaceIndex",
			h.podRange(t, to), h.addressOf(t, to)))
	}
}

// podsWindows runs the pods: they reach each other, and that on the Windows node reaches the API, by Services.
func (h kubeadmHosts) podsWindows(t *testing.T, pods string) {
	t.Helper()
	h.agnhost(t, "windows")
	h.writes(t, h.control, "/root/pods.yaml", pods)
	h.kubectl(t, "apply", "-f", "/root/pods.yaml")
	h.kubectl(t, "wait", "--for=condition=Ready", "pod/win", "pod/lin", "--timeout=180s")
	h.dialBoth(t)
	h.kubectl(t, "exec", "win", "--", `C:\agnhost.exe`, "connect", "kubernetes.default.svc.cluster.local:443",
		"--timeout=10s")
}

// dialBoth has each of the pods ask the other one's Service.
func (h kubeadmHosts) dialBoth(t *testing.T) {
	t.Helper()
	for from, to := range map[string]string{"lin": "win", "win": "lin"} {
		poll(t, settle, func(ctx context.Context) error {
			out, err := h.mullion(ctx, t, "node", "exec", h.control, "--", "kubectl",
				"--kubeconfig=/etc/kubernetes/admin.conf", "get", "--raw", "/api/v1/namespaces/default/pods/http:"+from+
					":8080/proxy/dial?host="+to+".default.svc.cluster.local&port=80&protocol=http&request=hostname&tries=1")
			if err == nil && !strings.Contains(out, `{"responses":["`+to+`"]}`) {
				err = errors.New("no answer")
			}
			if err != nil {
				return fmt.Errorf("pod %s asks Service %s: %w: %s", from, to, err, out)
			}

			return nil
		})
	}
}

// resetWindows is `kubeadm.exe reset` and the removal of the services, after which nothing of the cluster is on the
// host.
func (h kubeadmHosts) resetWindows(t *testing.T, host string) {
	t.Helper()
	began := time.Now()
	out := h.must(t, "node", "shell", host, "--", "kubeadm", "reset", "-f")
	t.Logf("kubeadm reset of %s took %.1fs", host, time.Since(began).Seconds())
	if strings.Contains(out, "[reset] Failed") || strings.Contains(out, "could not be stopped") {
		t.Errorf("kubeadm.exe reset: %s", out)
	}

	h.runs(t, host, "sc.exe", "stop", "kube-proxy")
	h.runs(t, host, "sc.exe", "delete", "kube-proxy")
	h.runs(t, host, "nssm.exe", "remove", "kubelet", "confirm")
	h.runs(t, host, "cmd", "/c", "del", `C:\etc\kubernetes\kube-proxy.conf`)

	// sc.exe does not wait for the service's end.
	until(t, settle, func() error {
		left := h.runs(t, host, "cmd", "/c",
			`dir /s /b /a-d C:\etc\kubernetes C:\var\lib\kubelet 2>nul & tasklist | findstr /i kube & exit 0`)
		left += h.runs(t, host, `C:\Program Files\containerd\crictl.exe`, "pods", "-q")
		if strings.TrimSpace(left) != "" {
			return fmt.Errorf("kubeadm.exe reset left on %s:\n%s", host, left)
		}
		return nil
	})

	if out, err := h.mullion(t.Context(), t, "node", "exec", host, "--", "sc.exe", "query", "kubelet"); err == nil ||
		!regexp.MustCompile(`1060`).MatchString(out) {
		t.Errorf("the kubelet's service after its removal: %s", out)
	}
	h.kubectl(t, "delete", "node", host)
}
