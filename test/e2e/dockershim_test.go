//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// dockerNetworking are the subnets of a cluster with f.dockerService.
const dockerNetworking = "networking: {underlaySubnet: 10.243.0.0/24, podSubnet: 10.94.0.0/16, serviceSubnet: 10.194.0.0/16}\n"

const dockershimCluster = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-dockershim
kubernetesVersion: "1.20"
` + dockerNetworking + `addons: {metricsServer: false, localStorage: false}
nodes: [{name: win-1, windowsVersion: ltsc2019, bare: true}]
`

// dockershimKubelet has the flags of the documents' kubelet, but for --allow-privileged, which is gone since 1.15. It
// joins by a token, and the machine may have a full disk.
// https://v1-20.docs.kubernetes.io/docs/setup/production-environment/windows/intro-windows-in-kubernetes/#troubleshooting
const dockershimKubelet = `C:\k\kubelet.exe --windows-service --hostname-override=win-1 --v=6 --pod-infra-container-image=kubeletwin/pause ` +
	`--resolv-conf="" --enable-debugging-handlers --cluster-dns=10.194.0.10 --cluster-domain=cluster.local ` +
	`--kubeconfig=C:\k\kubelet.conf --hairpin-mode=promiscuous-bridge --image-pull-progress-deadline=20m ` +
	`--cgroups-per-qos=false --log-dir=C:\k\log --logtostderr=false --enforce-node-allocatable="" ` +
	`--network-plugin=cni --cni-bin-dir=C:\k\cni --cni-conf-dir=C:\k\cni\config ` +
	`--bootstrap-kubeconfig=C:\k\bootstrap.conf --cert-dir=C:\k\pki --rotate-server-certificates ` +
	`--eviction-hard=memory.available<100Mi --image-gc-high-threshold=100`

// criDockerd is upstream's cri-dockerd.exe, which is no service of Windows. It serves CRI by Docker.
const criDockerd = `C:\k\cri-dockerd.exe --container-runtime-endpoint npipe:////./pipe/cri-dockerd --network-plugin=cni ` +
	`--cni-bin-dir=C:\k\cni --cni-conf-dir=C:\k\cni\config --pod-infra-container-image kubeletwin/pause`

// criKubelet is the configuration of a kubelet of today that calls it.
const criKubelet = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: npipe:////./pipe/cri-dockerd
cgroupsPerQOS: false
enforceNodeAllocatable: [none]
resolvConf: ""
clusterDNS: [10.194.0.10]
clusterDomain: cluster.local
rotateCertificates: true
serverTLSBootstrap: true
authentication: {x509: {clientCAFile: 'C:\k\ca.crt'}, anonymous: {enabled: false}, webhook: {enabled: true}}
authorization: {mode: Webhook}
evictionHard: {memory.available: 100Mi}
`

// dockerKubeProxy is kube-proxy.exe's, as the documents have it.
const dockerKubeProxy = `C:\k\kube-proxy.exe --windows-service --v=4 --proxy-mode=kernelspace --hostname-override=win-1 ` +
	`--kubeconfig=C:\k\config --network-name=cbr0 --cluster-cidr=10.94.0.0/16` + dockerLogs

// dockerLogs are its flags for logs.
const dockerLogs = ` --log-dir=C:\k\log --logtostderr=false`

const nodeToken = `apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-abcdef, namespace: kube-system}
type: bootstrap.kubernetes.io/token
stringData:
  token-id: abcdef
  token-secret: 0123456789abcdef
  usage-bootstrap-authentication: "true"
  auth-extra-groups: system:bootstrappers:kubeadm:default-node-token
`

// dockerNode is the host of a node whose runtime is Docker.
type dockerNode struct{ cluster }

// TestFieldDockershim prepares a bare host of Windows Server 2019 as the documents of Kubernetes 1.20 do: Docker as a
// service, the pause image, the kubelet with dockershim, win-bridge on a network made by hand, kube-proxy. Pods of two
// containers run there.
func TestFieldDockershim(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"), dockerProgram("dockerd.exe"), kubernetes(oldVersion))

	n := dockerNode{newCluster(t)}
	n.preparesDocker(t, dockershimCluster)

	n.service(t, "kubelet", dockershimKubelet)
	n.network(t)
	n.prints(t, "docker://2.", "kubectl", "get", "node", "win-1", "-o", "wide")
	n.service(t, "kube-proxy", dockerKubeProxy)

	t.Run("pods", n.pods)
	t.Run("execs", n.execs)
	t.Run("services", n.services)
	t.Run("grace", n.grace)
	t.Run("restart", n.restart)
	t.Run("end", n.end)
}

// TestFieldCRIDockerd is TestFieldDockershim with today's Kubernetes: its kubelet has no dockershim, and calls
// upstream's cri-dockerd.exe.
func TestFieldCRIDockerd(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"), dockerProgram("dockerd.exe"),
		dockerProgram("cri-dockerd.exe"))

	n := dockerNode{newCluster(t)}
	n.preparesDocker(t, strings.Replace(dockershimCluster, "kubernetesVersion: \"1.20\"\n", "", 1))
	n.must(t, "node", "cp", filepath.Join(n.bin, "docker-windows", "cri-dockerd.exe"), `win-1:C:\k\cri-dockerd.exe`)
	n.must(t, "node", "cp", filepath.Join(n.data, "pki", "ca.crt"), `win-1:C:\k\ca.crt`)
	n.writes(t, `C:\k\kubelet.yaml`, criKubelet)

	n.runs(t, "Start cri-dockerd grpc backend", strings.Fields(criDockerd)...)
	n.service(t, "kubelet", `C:\k\kubelet.exe --windows-service --hostname-override=win-1 --v=4 --config=C:\k\kubelet.yaml `+
		`--bootstrap-kubeconfig=C:\k\bootstrap.conf --kubeconfig=C:\k\kubelet.conf --cert-dir=C:\k\pki`)
	n.network(t)
	n.prints(t, "docker://2.", "kubectl", "get", "node", "win-1", "-o", "wide")
	n.service(t, "kube-proxy", strings.TrimSuffix(dockerKubeProxy, dockerLogs)) // today's logs to files no more

	t.Run("pods", n.pods)
	t.Run("execs", func(t *testing.T) {
		out, err := n.mullion(t.Context(), t, "kubectl", "exec", "deployment/web", "-c", "web", "--", "cmd", "/c", "ver")
		if err == nil || !strings.Contains(out, "server gave HTTP response to HTTPS client") {
			t.Errorf("cri-dockerd's address for exec has no scheme, and yet: %v, %s", err, out)
		}
	})
	t.Run("services", n.services)
	t.Run("grace", n.grace)
	t.Run("end", n.end)
}

// runs runs a program on the host until the test ends, and returns when it has said a text.
func (n dockerNode) runs(t *testing.T, says string, args ...string) {
	t.Helper()
	n.runsOn(t, "win-1", says, args...)
}

// runsOn runs a program on a host until the test ends, and returns when it has said a text.
func (c cluster) runsOn(t *testing.T, host, says string, args ...string) {
	t.Helper()
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	line := c.on(append([]string{filepath.Join(c.bin, "mullion"), "node", "exec", host, "--"}, args...)...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = c.env()
	cmd.Stdout = said
	cmd.Stderr = said // a file: who has it open keeps nobody waiting
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was ended
		if text, _ := os.ReadFile(said.Name()); t.Failed() {
			t.Logf("%s said:\n%s", args[0], text)
		}
		said.Close()
	})
	until(t, settle, func() error {
		text, err := os.ReadFile(said.Name())
		return lacks(string(text), says, err)
	})
}

// host runs a program on the host, which has to end well.
func (n dockerNode) host(t *testing.T, args ...string) {
	t.Helper()
	n.must(t, append([]string{"node", "exec", "win-1", "--"}, args...)...)
}

// writes writes a file on the host.
func (n dockerNode) writes(t *testing.T, to, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n.must(t, "node", "cp", file, "win-1:"+to)
}

// service makes a service of a command line, and starts it.
func (n dockerNode) service(t *testing.T, name, command string) {
	t.Helper()
	n.host(t, "sc.exe", "create", name, "start=", "auto", "binPath=", command)
	n.host(t, "sc.exe", "start", name)
}

// preparesDocker brings up the cluster, has Docker run on its host, builds the pause image as the documents do and an
// image for pods, and puts the files of the node's programs there.
func (n dockerNode) preparesDocker(t *testing.T, cluster string) {
	t.Helper()
	n.bringUp(t, cluster, "--wait", "8m")
	n.dockerService(t, filepath.Join(n.bin, "docker-windows"), "ltsc2019")

	for _, dir := range []string{`C:\k\cni`, `C:\k\cni\config`, `C:\k\log`, `C:\pause`, `C:\agnhost`} {
		n.host(t, "cmd", "/c", "mkdir", dir)
	}
	for to, from := range map[string]string{
		`C:\k\cni\win-bridge.exe`: "win-bridge.exe",
		`C:\k\cni\host-local.exe`: "host-local.exe",
		`C:\agnhost\agnhost.exe`:  "agnhost.exe",
	} {
		n.must(t, "node", "cp", filepath.Join(n.bin, "windows", from), "win-1:"+to)
	}

	// https://github.com/microsoft/SDN/blob/master/Kubernetes/windows/Dockerfile
	n.writes(t, `C:\pause\Dockerfile`, "FROM "+dockerImage+"\nCMD cmd /c ping -t localhost\n")
	n.writes(t, `C:\agnhost\Dockerfile`, "FROM "+dockerImage+"\nCOPY agnhost.exe C:\\\\\n")
	n.docker(t, 0, "Successfully tagged kubeletwin/pause:latest", "build", "-t", "kubeletwin/pause", `C:\pause`)
	n.docker(t, 0, "Successfully tagged mullion.local/agnhost:v1", "build", "-t", "mullion.local/agnhost:v1", `C:\agnhost`)

	n.apply(t, nodeToken)
	config := n.must(t, "kubectl", "config", "view", "--minify", "--raw")
	config = regexp.MustCompile(`(?m)^( *server:).*$`).ReplaceAllString(config, "$1 https://10.243.0.1:6443")
	n.writes(t, `C:\k\config`, config)
	users := regexp.MustCompile(`(?s)\nusers:.*`).ReplaceAllString(config, "\n") +
		"users: [{name: joins, user: {token: abcdef.0123456789abcdef}}]\n"
	n.writes(t, `C:\k\bootstrap.conf`, regexp.MustCompile(`(?m)^( *user:) .*$`).ReplaceAllString(users, "$1 joins"))
}

// network makes the network of the node's pods, once the node has its range of addresses, as start-kubelet.ps1 of
// microsoft/SDN does, and configures win-bridge.
func (n dockerNode) network(t *testing.T) {
	t.Helper()
	var cidr string
	poll(t, settle, func(ctx context.Context) error {
		out, err := n.mullion(ctx, t, "kubectl", "get", "node", "win-1", "-o", "jsonpath={.spec.podCIDR}")
		cidr = strings.TrimSpace(out)
		return lacks(out, "/24", err)
	})

	base := strings.TrimSuffix(cidr, "0/24")
	n.writes(t, `C:\k\network.ps1`, fmt.Sprintf(`$n = New-HNSNetwork -Type L2Bridge -AddressPrefix %s -Gateway %s1 -Name cbr0 -Verbose
$e = New-HnsEndpoint -NetworkId $n.Id -Name cbr0_ep -IPAddress %[2]s2 -Gateway "0.0.0.0" -Verbose
Attach-HnsHostEndpoint -EndpointID $e.Id -CompartmentID 1 -Verbose
`, cidr, base))
	n.host(t, "powershell", "-File", `C:\k\network.ps1`)

	n.writes(t, `C:\k\cni\config\cni.conf`, fmt.Sprintf(`{
  "cniVersion": "0.2.0", "name": "cbr0", "type": "win-bridge", "capabilities": {"dns": true},
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "%s", "rangeStart": "%s10"}]]},
  "policies": [
    {"Name": "EndpointPolicy", "Value": {"Type": "OutBoundNAT", "ExceptionList": ["10.94.0.0/16", "10.194.0.0/16", "10.243.0.0/24"]}},
    {"Name": "EndpointPolicy", "Value": {"Type": "ROUTE", "DestinationPrefix": "10.194.0.0/16", "NeedEncap": true}},
    {"Name": "EndpointPolicy", "Value": {"Type": "ROUTE", "DestinationPrefix": "10.243.0.11/32", "NeedEncap": true}}
  ]
}
`, cidr, base))
	n.must(t, "kubectl", "wait", "--for=condition=Ready", "node/win-1", "--timeout=90s")
}

const dockerPods = `apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {page.txt: of a ConfigMap}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      terminationGracePeriodSeconds: 5
      containers:
      - name: web
        image: mullion.local/agnhost:v1
        imagePullPolicy: Never
        command: ['C:\agnhost.exe', netexec, --http-port=80]
        readinessProbe: {httpGet: {port: 80}}
        resources: {limits: {memory: 300Mi, cpu: "1"}}
        volumeMounts: [{name: conf, mountPath: 'C:\conf'}, {name: share, mountPath: 'C:\share'}]
      - name: beside
        image: mullion.local/agnhost:v1
        imagePullPolicy: Never
        command: [cmd, /c, 'echo it runs& ping -n 900 127.0.0.1 >nul']
        volumeMounts: [{name: conf, mountPath: 'C:\conf'}, {name: share, mountPath: 'C:\share'}]
      volumes: [{name: conf, configMap: {name: conf}}, {name: share, emptyDir: {}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}
`

// pods runs pods of two containers and looks at them from the API and by docker.exe.
func (n dockerNode) pods(t *testing.T) {
	n.apply(t, dockerPods)
	n.must(t, "kubectl", "rollout", "status", "deployment/web", "--timeout=3m")

	out := n.docker(t, 0, "", "ps", "--format", "{{.Image}} {{.Names}}")
	for _, want := range []string{"kubeletwin/pause k8s_POD_web-", " k8s_web_web-", " k8s_beside_web-"} {
		if strings.Count(out, want) != 2 {
			t.Errorf("docker ps shows %q not twice:\n%s", want, out)
		}
	}

	if out := n.must(t, "kubectl", "logs", "deployment/web", "-c", "beside"); !strings.Contains(out, "it runs") {
		t.Errorf("logs: %s", out)
	}
	n.docker(t, 5, "containeradministrator", "exec", n.beside(t), "cmd", "/c", "whoami& exit 5")
	n.prints(t, `"name": "beside"`, "kubectl", "get", "--raw", "/api/v1/nodes/win-1/proxy/stats/summary")
}

// beside returns the id of a pod's second container.
func (n dockerNode) beside(t *testing.T) string {
	t.Helper()
	return strings.Fields(n.docker(t, 0, "", "ps", "-q", "--filter", "label=io.kubernetes.container.name=beside"))[0]
}

// execs runs programs in the containers of a pod, by the API.
func (n dockerNode) execs(t *testing.T) {
	const of = "deployment/web"
	run := func(code int, want, container string, command ...string) {
		t.Helper()
		args := append([]string{"kubectl", "exec", of, "-c", container, "--"}, command...)
		out, err := n.mullion(t.Context(), t, args...)
		if exitCode(err) != code || !strings.Contains(out, want) {
			t.Errorf("%q: exit code %d, want %d and %q: %s", args, exitCode(err), code, want, out)
		}
	}
	run(0, "Version 10.0.17763.", "web", "cmd", "/c", "ver")
	run(7, "", "beside", "cmd", "/c", "exit 7")
	run(0, "of a ConfigMap", "web", "cmd", "/c", `type C:\conf\page.txt`)
	run(0, "", "web", "cmd", "/c", `echo shared> C:\share\x.txt`)
	run(0, "shared", "beside", "cmd", "/c", `type C:\share\x.txt`)
	run(0, "web-", "beside", "curl.exe", "-fsS", "--max-time", "10", "http://127.0.0.1/hostname") // one network for both
}

// services asks the pods' Service from a pod by its name, and from the machine by its node port.
func (n dockerNode) services(t *testing.T) {
	t.Helper()
	n.docker(t, 0, "web-", "exec", n.beside(t), "curl.exe", "-fsS", "--max-time", "10", "http://web/hostname")
	port := n.must(t, "kubectl", "get", "service", "web", "-o", "jsonpath={.spec.ports[0].nodePort}")
	poll(t, settle, func(ctx context.Context) error {
		return n.fetch(ctx, "http://10.243.0.11:"+port+"/hostname", "web-")
	})
}

// grace deletes pods of a program that takes its time when it is told to end: within the time that the pod gives it,
// and beyond it.
func (n dockerNode) grace(t *testing.T) {
	for _, c := range []struct {
		name        string
		takes, has  int
		least, most time.Duration
	}{
		{"in-time", 3, 40, 3 * time.Second, 35 * time.Second},
		{"too-long", 120, 12, 12 * time.Second, 60 * time.Second},
	} {
		n.apply(t, fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: %d
  containers:
  - name: c
    image: mullion.local/agnhost:v1
    imagePullPolicy: Never
    command: ['C:\agnhost.exe', netexec, --delay-shutdown=%d]
    readinessProbe: {httpGet: {port: 8080}}
`, c.name, c.has, c.takes))
		n.must(t, "kubectl", "wait", "--for=condition=Ready", "pod/"+c.name, "--timeout=2m")
		began := time.Now()
		n.must(t, "kubectl", "delete", "pod", c.name, "--timeout=2m")
		if took := time.Since(began); took < c.least || took > c.most {
			t.Errorf("the pod %s was gone after %v, want %v to %v", c.name, took, c.least, c.most)
		}
	}
}

// restart stops Docker under the pods, which come back with it.
func (n dockerNode) restart(t *testing.T) {
	n.host(t, "sc.exe", "stop", "kubelet")
	n.host(t, "sc.exe", "stop", "docker")
	poll(t, settle, func(ctx context.Context) error {
		out, err := n.mullion(ctx, t, "node", "exec", "win-1", "--", "sc.exe", "query", "docker")
		return lacks(out, "STOPPED", err)
	})
	n.host(t, "sc.exe", "start", "docker")
	n.prints(t, "Server:", "node", "exec", "win-1", "--", `C:\docker\docker.exe`, "version")

	// dockerd.exe takes the endpoints away of networks that it finds (libnetwork/drivers/windows, CreateNetwork).
	n.host(t, "powershell", "-Command", "Get-HnsNetwork | ? Name -EQ cbr0 | Remove-HnsNetwork")
	n.host(t, "powershell", "-File", `C:\k\network.ps1`)
	n.host(t, "sc.exe", "start", "kubelet")
	poll(t, 2*settle, func(ctx context.Context) error {
		out, err := n.mullion(ctx, t, "kubectl", "get", "pods", "-l", "app=web", "-o",
			`jsonpath={range .items[*]}{.status.containerStatuses[*].restartCount}/{.status.containerStatuses[*].ready} {end}`)
		if strings.Count(out, "true true") != 2 || strings.Contains(out, "0") {
			err = errors.Join(err, errors.New("not all run again"))
		}
		return lacks(out, "/", err)
	})
	n.services(t)
}

// end deletes the pods, of which nothing is left.
func (n dockerNode) end(t *testing.T) {
	n.must(t, "kubectl", "delete", "deployment/web", "service/web", "configmap/conf")
	until(t, 4*settle, func() error {
		if out := n.docker(t, 0, "", "ps", "-q"); strings.TrimSpace(out) != "" {
			return fmt.Errorf("containers run: %s", out)
		}
		return nil
	})
	n.docker(t, 0, "", "container", "prune", "-f") // the kubelet keeps some of those that have ended

	poll(t, settle, func(ctx context.Context) error {
		out, err := n.mullion(ctx, t, "hns", "ls", "win-1", "endpoint")
		// dockershim asks win-bridge for a pod's address by ADD, also while another thread of it ends the pod: what
		// that makes anew nobody takes away.
		if regexp.MustCompile(`10\.94\.0\.\d+ .*namespace .*[0-9a-f]_cbr0`).MatchString(out) {
			err = errors.Join(err, errors.New("endpoints of pods are attached"))
		}
		left, readErr := os.ReadDir(filepath.Join(n.data, "nodes", "win-1", "hcs", "scratch"))
		if len(left) > 0 {
			err = errors.Join(err, fmt.Errorf("scratches are left: %v", left))
		}
		return lacks(out, "cbr0_ep", errors.Join(err, readErr))
	})
}
