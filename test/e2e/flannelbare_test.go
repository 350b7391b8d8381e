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
)

const bareFlannelYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-bareflannel
networking:
  underlaySubnet: 10.231.0.0/24
  podSubnet: 10.232.0.0/16
  serviceSubnet: 10.233.0.0/16
  kubeProxyMode: none
  disableDefaultCNI: true
addons: {metricsServer: false, localStorage: false}
nodes:
- {name: bare-1, windowsVersion: ltsc2022, bare: true}
- {name: bare-2, windowsVersion: ltsc2022, bare: true}
`

// bareFlannelCNI is the configuration of flannel's CNI plugin, as the documents' cni.conf is.
const bareFlannelCNI = `{
  "cniVersion": "0.2.0", "name": "cbr0", "type": "flannel", "capabilities": {"dns": true},
  "delegate": {
    "type": "win-bridge",
    "policies": [
      {"Name": "EndpointPolicy", "Value": {"Type": "OutBoundNAT", "ExceptionList": ["10.232.0.0/16", "10.233.0.0/16", "10.231.0.0/24"]}},
      {"Name": "EndpointPolicy", "Value": {"Type": "ROUTE", "DestinationPrefix": "10.233.0.0/16", "NeedEncap": true}}
    ]
  }
}
`

// flanneldLine is the documents' line, with ADDRESS for the node's own.
const flanneldLine = `--kubeconfig-file=c:\k\config --iface=ADDRESS --ip-masq=1 --kube-subnet-mgr=1`

// bareFlannel is a cluster of bare hosts on which flannel is started as the documents do.
type bareFlannel struct{ cluster }

// TestFieldFlannelBare prepares two bare hosts as the documents do: kubelet, kube-proxy and flanneld as services of
// nssm, or flanneld by hand in a PowerShell. Then come the documents' troubles with flannel, and what they say to do:
// flanneld without NODE_NAME, a node without subnet.env, and a node that joins again.
func TestFieldFlannelBare(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"), program("flannel/windows/flanneld.exe", "flannel", "flannel"))

	nssm := nssmProgram(t)
	f := bareFlannel{newCluster(t)}
	f.bringUp(t, bareFlannelYAML)
	folder := filepath.Join(f.home, "tool") // its hosts are of Windows alone
	compile(t, "windows", "./tool", filepath.Join(folder, "tool.exe"))
	f.must(t, "image", "build", folder, "-f", "tool/image.yaml")
	for _, host := range []string{"bare-1", "bare-2"} {
		f.prepare(t, host, nssm)
		f.kubelet(t, host)
	}

	f.waits(t)
	f.byHand(t)
	f.must(t, "kubectl", "wait", "--for=condition=Ready", "node", "--all", "--timeout=90s")
	for _, host := range []string{"bare-1", "bare-2"} {
		f.kubeProxy(t, host)
		f.serves(t, host)
	}
	f.all(t, "first")

	t.Run("subnet.env", f.withoutSubnet)
	t.Run("rejoin", f.rejoins)
}

// says runs commands in a PowerShell of a host, which have to end well and print a text.
func (f bareFlannel) says(t *testing.T, host, want string, commands ...string) {
	t.Helper()
	out := f.must(t, "node", "exec", host, "--", "powershell", "-NoProfile", "-Command", strings.Join(commands, "; "))
	if !strings.Contains(out, want) {
		t.Errorf("%s: %q does not print %q: %s", host, commands, want, out)
	}
}

// address is a host's.
func (f bareFlannel) address(host string) string {
	return "10.231.0.1" + strings.TrimPrefix(host, "bare-")
}

// prepare puts the programs' files on a host.
func (f bareFlannel) prepare(t *testing.T, host, nssm string) {
	t.Helper()
	config, err := os.ReadFile(f.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config = regexp.MustCompile(`(?m)^( *server:).*$`).ReplaceAll(config, []byte("$1 https://10.231.0.1:6443"))
	f.says(t, host, "", `mkdir -Force C:\flannel`, `mkdir -Force C:\opt\cni\bin`, `mkdir -Force C:\etc\cni\net.d`,
		`mkdir -Force C:\etc\kube-flannel`)
	for to, text := range map[string]string{
		"C:/k/config":                      string(config),
		"C:/k/kubelet.yaml":                strings.ReplaceAll(bareKubelet, "10.98.0.10", "10.233.0.10"),
		"C:/etc/cni/net.d/10-flannel.conf": bareFlannelCNI,
		"C:/etc/kube-flannel/net-conf.json": `{"Network": "10.232.0.0/16", "Backend": {"Type": "host-gw", "Name": "cbr0"}}` +
			"\n",
	} {
		f.must(t, "node", "cp", f.file(t, "file", text), host+":"+to)
	}

	for to, from := range map[string]string{
		"C:/Windows/nssm.exe":           nssm,
		"C:/flannel/flanneld.exe":       filepath.Join(f.bin, "flannel/windows/flanneld.exe"),
		"C:/opt/cni/bin/flannel.exe":    filepath.Join(f.bin, "flannel/windows/flannel.exe"),
		"C:/opt/cni/bin/win-bridge.exe": filepath.Join(f.bin, "windows/win-bridge.exe"),
		"C:/opt/cni/bin/host-local.exe": filepath.Join(f.bin, "windows/host-local.exe"),
	} {
		f.must(t, "node", "cp", from, host+":"+to)
	}
}

// kubelet registers the kubelet, as the documents do, and waits until the node has its range of addresses.
func (f bareFlannel) kubelet(t *testing.T, host string) {
	t.Helper()
	f.says(t, host, "kubelet: START:",
		`nssm install kubelet C:\k\kubelet.exe`,
		`nssm set kubelet AppParameters --config=C:\k\kubelet.yaml --kubeconfig=c:\k\config --hostname-override=`+host+
			" --node-ip="+f.address(host)+" --v=2",
		`nssm set kubelet AppDirectory C:\k`,
		`nssm set kubelet AppStdout C:\k\kubelet.log`, `nssm set kubelet AppStderr C:\k\kubelet.log`,
		`nssm start kubelet`)
	f.subnet(t, host, "")
}

// subnet waits until a node has a range of addresses that is not that one, and returns it.
func (f bareFlannel) subnet(t *testing.T, host, not string) (cidr string) {
	t.Helper()
	poll(t, settle, func(ctx context.Context) error {
		out, err := f.mullion(ctx, t, "kubectl", "get", "node", host, "-o", "jsonpath={.spec.podCIDR}")
		if cidr = strings.TrimSpace(out); err == nil && (!strings.HasPrefix(cidr, "10.232.") || cidr == not) {
			err = errors.New("it has no new range")
		}
		if err != nil {
			return fmt.Errorf("node %s: %w: %s", host, err, out)
		}
		return nil
	})
	return cidr
}

// waits registers flanneld as the documents do, first without the node's name, without which it makes no network.
func (f bareFlannel) waits(t *testing.T) {
	t.Helper()
	f.says(t, "bare-1", "installed successfully",
		`nssm install flanneld C:\flannel\flanneld.exe`,
		`nssm set flanneld AppParameters `+strings.Replace(flanneldLine, "ADDRESS", f.address("bare-1"), 1),
		`nssm set flanneld AppDirectory C:\flannel`,
		`nssm set flanneld AppStdout C:\k\flanneld.log`, `nssm set flanneld AppStderr C:\k\flanneld.log`)
	f.says(t, "bare-1", "", `nssm start flanneld; exit 0`) // nssm says that it ended
	f.prints(t, "POD_NAME", "node", "exec", "bare-1", "--", "cmd", "/c", `type C:\k\flanneld.log`)
	f.says(t, "bare-1", "False", `Test-Path C:\run\flannel\subnet.env`)

	f.says(t, "bare-1", "flanneld: START:", `nssm stop flanneld`,
		`nssm set flanneld AppEnvironmentExtra NODE_NAME=bare-1`, `nssm start flanneld`)
	f.network(t, "bare-1", f.subnet(t, "bare-1", ""))
}

// byHand starts flanneld in a PowerShell of the other host, by the documents' two lines, until the test ends.
func (f bareFlannel) byHand(t *testing.T) {
	t.Helper()
	line := strings.Replace(flanneldLine, "ADDRESS", f.address("bare-2"), 1)
	f.runsOn(t, "bare-2", "Running backend", "powershell", "-NoProfile", "-Command",
		`[Environment]::SetEnvironmentVariable("NODE_NAME", "bare-2"); C:\flannel\flanneld.exe `+line)
	f.network(t, "bare-2", f.subnet(t, "bare-2", ""))
}

// network waits until a host has flannel's network, with the node's range.
func (f bareFlannel) network(t *testing.T, host, cidr string) {
	t.Helper()
	base := strings.TrimSuffix(cidr, "0/24")
	f.prints(t, "FLANNEL_NETWORK=10.232.0.0/16\nFLANNEL_SUBNET="+base+"1/24", "node", "exec", host, "--", "cmd", "/c",
		`type C:\run\flannel\subnet.env`)
	f.prints(t, cidr, "node", "exec", host, "--", "powershell", "-NoProfile", "-Command",
		`(Get-HnsNetwork | ? Name -ieq "cbr0").Subnets.AddressPrefix`)
}

// kubeProxy registers kube-proxy for host-gw, as the documents do.
func (f bareFlannel) kubeProxy(t *testing.T, host string) {
	t.Helper()
	f.says(t, host, "kube-proxy: START:",
		`nssm install kube-proxy C:\k\kube-proxy.exe`,
		`nssm set kube-proxy AppDirectory c:\k`,
		`nssm set kube-proxy AppParameters --v=4 --proxy-mode=kernelspace --hostname-override=$(hostname) `+
			`--kubeconfig=c:\k\config --enable-dsr=false`,
		`nssm.exe set kube-proxy AppEnvironmentExtra KUBE_NETWORK=cbr0`,
		`nssm set kube-proxy DependOnService kubelet`,
		`nssm start kube-proxy`)
	f.says(t, host, "--hostname-override="+host, "nssm get kube-proxy AppParameters")
}

// serves has a pod on a node behind a Service, both called on-NODE.
func (f bareFlannel) serves(t *testing.T, host string) {
	t.Helper()
	f.apply(t, fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: on-%[1]s}
spec: {selector: {app: on-%[1]s}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: on-%[1]s, labels: {app: on-%[1]s}}
spec:
  nodeName: %[1]s
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists}]
  containers: [{name: serves, image: 'mullion.local/e2e:v1', args: [serve, ':80']}]
`, host))
	f.ready(t, "on-"+host)
}

// all has a pod of each node ask the pods of both, under their addresses and those of their Services. The bare hosts'
// kubelets are not for the API server to ask: what a pod saw is how it ends.
func (f bareFlannel) all(t *testing.T, round string) {
	t.Helper()
	var asks []string
	for _, to := range []string{"bare-1", "bare-2"} {
		service := strings.TrimSpace(f.must(t, "kubectl", "get", "service", "on-"+to, "-o", "jsonpath={.spec.clusterIP}"))
		for _, ip := range []string{f.podIP(t, "on-"+to), service} {
			asks = append(asks, "get", "http://"+ip+"/", "+")
		}
	}

	for _, from := range []string{"bare-1", "bare-2"} {
		name := round + "-" + from
		f.apply(t, fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeName: %s
  restartPolicy: OnFailure
  tolerations: [{operator: Exists}]
  containers: [{name: asks, image: 'mullion.local/e2e:v1', args: ['%s']}]
`, name, from, strings.Join(asks[:len(asks)-1], "', '")))
		f.must(t, "kubectl", "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/"+name, "--timeout=2m")
	}
}

// withoutSubnet takes subnet.env away: pods do not start, and the file written by hand, as the documents say, has them
// start.
func (f bareFlannel) withoutSubnet(t *testing.T) {
	cidr := f.subnet(t, "bare-1", "")
	f.says(t, "bare-1", "STOP:", "nssm stop flanneld", `Remove-Item C:\run\flannel\subnet.env`)
	f.must(t, "kubectl", "delete", "pod", "on-bare-1", "--timeout=1m")
	f.apply(t, `apiVersion: v1
kind: Pod
metadata: {name: on-bare-1, labels: {app: on-bare-1}}
spec:
  nodeName: bare-1
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists}]
  containers: [{name: serves, image: 'mullion.local/e2e:v1', args: [serve, ':80']}]
`)
	f.prints(t, "subnet.env", "kubectl", "get", "events", "--field-selector=involvedObject.name=on-bare-1,reason=FailedCreatePodSandBox")

	text := "FLANNEL_NETWORK=10.232.0.0/16\nFLANNEL_SUBNET=" + strings.TrimSuffix(cidr, "0/24") +
		"1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n"
	f.must(t, "node", "cp", f.file(t, "subnet.env", text), "bare-1:C:/run/flannel/subnet.env")
	f.ready(t, "on-bare-1")
	f.says(t, "bare-1", "flanneld: START:", "nssm start flanneld")
	f.all(t, "again")
}

// rejoins deletes a node, which then has another range of addresses, and does what the documents say of it.
func (f bareFlannel) rejoins(t *testing.T) {
	before := f.subnet(t, "bare-1", "")
	f.says(t, "bare-1", "STOP:", "nssm stop kube-proxy", "nssm stop flanneld", "nssm stop kubelet")
	f.must(t, "kubectl", "delete", "pod", "on-bare-1", "--force", "--grace-period=0")
	f.must(t, "kubectl", "delete", "node", "bare-1")
	f.says(t, "bare-1", "kubelet: START:", `"{}" | Set-Content C:\k\SourceVip.json; "{}" | Set-Content C:\k\SourceVipRequest.json`,
		`Remove-Item C:\k\SourceVip.json`, `Remove-Item C:\k\SourceVipRequest.json`, "nssm start kubelet")
	now := f.subnet(t, "bare-1", before)

	f.says(t, "bare-1", "flanneld: START:", "nssm start flanneld")
	f.network(t, "bare-1", now)
	f.says(t, "bare-1", "kube-proxy: START:", "nssm start kube-proxy")
	f.must(t, "kubectl", "wait", "--for=condition=Ready", "node", "--all", "--timeout=90s")
	f.serves(t, "bare-1")
	if ip := f.podIP(t, "on-bare-1"); !strings.HasPrefix(ip, strings.TrimSuffix(now, "0/24")) {
		t.Errorf("the pod has %s, the node %s", ip, now)
	}
	f.all(t, "rejoined")
}
