package powershell

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// example is one of the scripts of examples, in a folder that stands for its container or host.
type example struct {
	dir, script string
	environ     []string
	out, errs   printout
}

// printout is what a script prints; it may be read while the script runs.
type printout struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes what the script prints.
func (p *printout) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// String returns what has been printed so far.
func (p *printout) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func newExample(t *testing.T, name string, files map[string]string) *example {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../examples", name))
	if err != nil {
		t.Fatal(err)
	}

	e := &example{dir: t.TempDir(), script: string(data)}
	for file, content := range files {
		path := filepath.Join(e.dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	e.environ = []string{"PATH=/usr/bin:/bin", "CONTAINER_SANDBOX_MOUNT_POINT=" + e.dir}
	t.Chdir(e.dir)
	return e
}

func (e *example) run(ctx context.Context) int {
	s := Session{
		Args:    []string{"/c", e.script},
		Environ: e.environ,
		Stdin:   strings.NewReader(""),
		Stdout:  &e.out,
		Stderr:  &e.errs,
		Newline: "\n",
		windows: stageWindows(),
	}
	return s.Run(ctx)
}

// TestKubeProxyExample starts kube-proxy by the example's script: with the completed kubeconfig, and DSR if its version
// has it.
func TestKubeProxyExample(t *testing.T) {
	e := newExample(t, "windows-network/kube-proxy/start.ps1", map[string]string{
		"mounts/kube-proxy/kubeconfig.conf": "tokenFile: /var/run/secrets/token\n",
		"kube-proxy/kube-proxy.exe": "#!/bin/sh\n" +
			"[ \"$1\" = --version ] && echo Kubernetes v1.36.3 || printf 'started %s\\n' \"$*\"\n",
	})
	e.environ = append(e.environ, "KUBE_NETWORK=cbr0", "NODE_NAME=win-1")
	if code := e.run(t.Context()); code != 0 || e.errs.String() != "" {
		t.Errorf("it ends with %d: %s", code, e.errs.String())
	}

	want := `started --v=2 --proxy-mode=kernelspace --hostname-override=win-1 --network-name=cbr0 ` +
		`--kubeconfig=C:\var\lib\kube-proxy\kubeconfig.conf --enable-dsr=true` + "\n"
	if !strings.HasSuffix(e.out.String(), want) {
		t.Errorf("printed %q, want at its end %q", e.out.String(), want)
	}
	config, err := os.ReadFile(filepath.Join(e.dir, `C:\var\lib\kube-proxy\kubeconfig.conf`))
	if err != nil || string(config) != "tokenFile: "+e.dir+"/var/run/secrets/token\n\n" {
		t.Errorf("the kubeconfig is %q, %v", config, err)
	}
}

// TestCNIExample installs the CNI plugin by the example's script, which then waits until it is ended.
func TestCNIExample(t *testing.T) {
	e := newExample(t, "windows-network/cni/start.ps1", map[string]string{
		"network/cni/win-bridge.exe": "plugin",
		"network/cni/host-local.exe": "ipam",
		"network/network.exe": "#!/bin/sh\n" +
			`echo '{"network":"cbr0","subnet":"10.244.1.0/24","rangeStart":"10.244.1.3"}'` + "\n",
		"mounts/cni/cni.conflist": `{"name":"","plugins":[{"type":"win-bridge",` +
			`"ipam":{"type":"host-local","ranges":[[{"subnet":"","rangeStart":""}]]},` +
			`"policies":[{"name":"x","value":{"Type":"OutBoundNAT","Settings":{"Exceptions":[]}}}]}]}`,
	})

	e.environ = append(
		e.environ,
		"CNI_BIN_PATH="+e.dir+"/bin", "CNI_CONFIG_PATH="+e.dir+"/net.d",
		"POD_SUBNET=10.244.0.0/16", "SERVICE_SUBNET=10.96.0.0/12", "NODE_SUBNET=172.18.0.0/16",
	)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	ended := make(chan int)
	go func() { ended <- e.run(ctx) }()
	const last = "Pods of this node are on cbr0, 10.244.1.0/24\n"
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(e.out.String(), last) && ctx.Err() == nil {
		<-tick.C
	}

	config, err := os.ReadFile(filepath.Join(e.dir, "net.d", "10-bridge.conflist"))
	if err != nil {
		t.Error(err)
	}
	cancel()
	if code := <-ended; code != 1 {
		t.Errorf("it ends with %d before it is ended: %s", code, e.errs.String())
	}

	for _, want := range []string{
		`"name":  "cbr0"`, `"subnet":  "10.244.1.0/24"`, `"rangeStart":  "10.244.1.3"`, `"10.244.0.0/16",`, `"172.18.0.0/16"`,
	} {
		if !strings.Contains(string(config), want) {
			t.Errorf("%s is not in the configuration:\n%s", want, config)
		}
	}

	plugin, err := os.ReadFile(filepath.Join(e.dir, "bin", "win-bridge.exe"))
	if err != nil || string(plugin) != "plugin" {
		t.Errorf("the plugin is %q, %v", plugin, err)
	}
	if !strings.Contains(e.out.String(), last) {
		t.Errorf("printed %q", e.out.String())
	}
}

// TestPrepareNodeExample prepares a host by the example's script, and starts the kubelet by the script that this
// writes.
func TestPrepareNodeExample(t *testing.T) {
	e := newExample(t, "kubeadm/prepare-node.ps1", map[string]string{
		"nssm.exe":         "#!/bin/sh\nprintf 'nssm %s\\n' \"$*\"\n",
		"powershell":       "#!/bin/sh\n",
		`C:\k\kubelet.exe`: "#!/bin/sh\nprintf 'started %s\\n' \"$*\"\n",
	})

	e.environ[0] += ":" + e.dir
	for range 2 { // the second time the folders and the link are there
		if code := e.run(t.Context()); code != 0 || e.errs.String() != "" {
			t.Errorf("it ends with %d: %s", code, e.errs.String())
		}
	}

	want := "nssm install kubelet " + e.dir + `/powershell -ExecutionPolicy Bypass -NoProfile C:\k\StartKubelet.ps1` + "\n"
	if !strings.HasPrefix(e.out.String(), want) {
		t.Errorf("printed %q, want at its beginning %q", e.out.String(), want)
	}
	if to, err := os.Readlink(`C:\var\lib\kubelet\etc\kubernetes\pki`); err != nil || to != `C:\etc\kubernetes\pki` {
		t.Errorf("the link leads to %q, %v", to, err)
	}

	script, err := os.ReadFile(`C:\k\StartKubelet.ps1`)
	if err != nil {
		t.Fatal(err)
	}

	for flags, begin := range map[string]string{
		`KUBELET_KUBEADM_ARGS=""` + "\n":                          "started --cert-dir=",
		`KUBELET_KUBEADM_ARGS="--node-ip=192.0.2.1 --v=4"` + "\n": "started --node-ip=192.0.2.1 --v=4 --cert-dir=",
	} {
		if err := os.WriteFile(`C:\var\lib\kubelet\kubeadm-flags.env`, []byte(flags), 0o600); err != nil {
			t.Fatal(err)
		}
		start := example{
			dir:     e.dir,
			script:  string(script),
			environ: e.environ,
		}

		if code := start.run(t.Context()); code != 0 || !strings.HasPrefix(start.out.String(), begin) {
			t.Errorf("with %q it ends with %d and prints %q, %s", flags, code, start.out.String(), start.errs.String())
		}
	}
}

// TestFlannelExample starts flanneld.exe by the example's script, after the CNI plugins and their configuration are
// there.
func TestFlannelExample(t *testing.T) {
	e := newExample(t, "flannel/windows/start.ps1", map[string]string{
		"flannel/cni/flannel.exe":        "plugin",
		"flannel/flanneld.exe":           "#!/bin/sh\nprintf 'started %s\\n' \"$*\"\nexit 3\n",
		"mounts/flannel/net-conf.json":   "{}",
		"mounts/flannel/cni-conf.json":   `{"name": "vxlan0"}`,
		"mounts/flannel/ip-masq":         "false",
		"mounts/flannel/kubeconfig.conf": "tokenFile: /var/run/secrets/token\n",
	})

	e.environ = append(e.environ, "CNI_BIN_PATH="+e.dir+"/bin", "CNI_CONFIG_PATH="+e.dir+"/net.d",
		"NODE_IP=10.213.0.12")
	if code := e.run(t.Context()); code != 3 || e.errs.String() != "" {
		t.Errorf("it ends with %d, flanneld.exe with 3: %s", code, e.errs.String())
	}

	const want = "started --kube-subnet-mgr --kubeconfig-file=C:\\etc\\kube-flannel\\kubeconfig.conf --iface=10.213.0.12 " +
		"--ip-masq=false -v=2\n"
	if !strings.HasSuffix(e.out.String(), want) {
		t.Errorf("printed %q, want at its end %q", e.out.String(), want)
	}

	for file, want := range map[string]string{
		"bin/flannel.exe": "plugin", "net.d/10-flannel.conf": `{"name": "vxlan0"}`, `C:\etc\kube-flannel\net-conf.json`: "{}",
	} {
		if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != want {
			t.Errorf("%s is %q, %v", file, text, err)
		}
	}
}

// TestSourceVIPExample reserves kube-proxy's source VIP by the example's script: once, and again when the node's range
// is another than that of an earlier request.
func TestSourceVIPExample(t *testing.T) {
	for name, c := range map[string]struct{ request, want string }{
		"none yet":       {want: "DEL,ADD,"},
		"another range":  {request: `{"subnet": "10.244.9.0/24"}`, want: "DEL,ADD,"},
		"the same range": {request: sourceVIPRequest},
	} {
		t.Run(name, func(t *testing.T) {
			e := newExample(t, "flannel/windows/source-vip.ps1", map[string]string{
				"bin/host-local.exe": "#!/bin/sh\nprintf %s, \"$CNI_COMMAND\" >> calls\ncat > \"asked\"\n" +
					`[ "$CNI_COMMAND" = DEL ] || printf '{\n"cniVersion": "0.2.0",\n"ip4": {"ip": "10.244.1.2/24"}\n}\n'` + "\n",
			})

			e.environ = append(e.environ, "KUBE_NETWORK=cbr0", "CNI_BIN_PATH="+e.dir+"/bin")
			if c.request != "" {
				for file, text := range map[string]string{
					`C:\k\sourceVipRequest.json`: c.request,
					`C:\k\sourceVip.json`:        "{}",
				} {
					if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}

			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if c.want == "" {
				ctx, cancel = context.WithTimeout(t.Context(), time.Second) // it has looked by then
				defer cancel()
			}

			ended := make(chan int)
			go func() { ended <- e.run(ctx) }()
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for !strings.Contains(e.out.String(), "The source VIP is 10.244.1.2/24\n") && ctx.Err() == nil {
				<-tick.C
			}

			cancel()
			if code := <-ended; code != 1 || strings.Contains(e.errs.String(), "host-local") {
				t.Errorf("it ends with %d before it is ended: %s", code, e.errs.String())
			}
			if calls, _ := os.ReadFile("calls"); string(calls) != c.want {
				t.Errorf("host-local.exe was called for %q, want %q; printed %q", calls, c.want, e.out.String())
			}

			if c.want == "" {
				return
			}
			asked, _ := os.ReadFile("asked")
			if strings.TrimSpace(string(asked)) != sourceVIPRequest {
				t.Errorf("host-local.exe was asked %q", asked)
			}

			answer, err := os.ReadFile(`C:\k\sourceVip.json`)
			if err != nil || !strings.Contains(string(answer), `"ip4": {"ip": "10.244.1.2/24"}`) {
				t.Errorf("the answer is %q, %v", answer, err)
			}
		})
	}
}

const sourceVIPRequest = `{"cniVersion": "0.2.0", "name": "cbr0", "ipam": {"type": "host-local", ` +
	`"ranges": [[{"subnet": "10.244.1.0/24"}]], "dataDir": "/var/lib/cni/networks"}}`
