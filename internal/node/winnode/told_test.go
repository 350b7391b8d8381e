package winnode

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/golden"

	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/kubenode/kubenodetest"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
)

// TestWhatANodeIsGiven holds all files and command lines of a node: a cluster that was made before comes up with them.
func TestWhatANodeIsGiven(t *testing.T) {
	mask := syscall.Umask(0o022)
	t.Cleanup(func() { syscall.Umask(mask) })
	for name, change := range map[string]func(*Config){
		"own": func(*Config) {},
		"foreign": func(c *Config) {
			c.SelfSigned = true
			c.ProxyKubeconfig = ""
			c.ClusterDomain = "example.org"
			c.Taint = false
			c.Labels = nil
			c.ClusterDNS = netip.Addr{}
			c.Network.NoCNI = true
			c.SystemReserved, c.KubeReserved = map[string]string{"cpu": "1"}, map[string]string{"memory": "1Gi"}
			c.ProxyAfter = []component.ID{component.OfNode("identity", "win-1")}
			c.Kubelet = map[string]any{
				"enableSystemLogQuery": true,
				"evictionHard":         map[string]any{"memory.available": "1Gi", "nodefs.available": nil},
			}

			c.KubeletExtraArgs = []spec.Arg{{Name: "v", Value: "4"}}
			c.KubeProxyExtraArgs = []spec.Arg{{Name: "v", Value: "5"}}
		},
		"bare": func(c *Config) { c.NoProxy, c.Memory = true, 4<<30 },
		"overlay": func(c *Config) {
			c.Network.Mode, c.EnableDSR = spec.ModeOverlay, true
			c.ContainerdSocket, c.ContainerdNamespace = "/run/containerd.sock", "mullion"
			c.PodSubnet = netip.MustParsePrefix("10.244.0.0/16")
			c.ServiceSubnet = netip.MustParsePrefix("10.96.0.0/16")
			c.NodeSubnet = netip.MustParsePrefix("10.213.0.0/24")
			dualStack(c)
		},
		"containerd": func(c *Config) {
			c.Containerd = filepath.Join(filepath.Dir(c.CAFile), "containerd-windows")
			c.Registries = spec.Registries{
				Mirrors: map[string]spec.Mirror{"docker.io": {Endpoint: []string{"https://mirror.example"}}},
				Configs: map[string]spec.RegistryConfig{
					"registry.example:5000": {Auth: spec.RegistryAuth{Username: "me", Password: `a"b`}},
				},
			}
		},
		"1.20": func(c *Config) {
			c.Version, c.EnableDSR = "v1.20.15", true
			c.KubeletExtraArgs = []spec.Arg{{Name: "logtostderr", Value: "true"}}
		},
		"no-authority":  func(c *Config) { c.CAFile = filepath.Join(filepath.Dir(c.CAFile), "none.crt") },
		"no-kubeconfig": func(c *Config) { c.ProxyKubeconfig = filepath.Join(filepath.Dir(c.CAFile), "none") },
	} {
		t.Run(name, func(t *testing.T) {
			c := sample(t)
			dir := filepath.Dir(c.LogDir)
			for path, text := range map[string]string{
				c.CAFile: "authority\n", c.BootstrapKubeconfig: bootstrapText, c.ProxyKubeconfig: "of kube-proxy\n",
			} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			change(&c)
			if err := os.MkdirAll(c.drive("Windows", "System32"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := c.writeEtc(); err != nil {
				t.Fatal(err)
			}

			if err := c.writeDrive(); err != nil {
				t.Fatal(err)
			}
			units, err := Units(c)
			if err != nil {
				t.Fatal(err)
			}

			host, err := json.MarshalIndent(c.Host(c.System()), "", "  ")
			if err != nil {
				t.Fatal(err)
			}

			text := string(host) + "\n" + kubenodetest.Units(t, units) +
				"kubelet.exe\n" + strings.Join(kubeletArgs(c), "\n") + "\n" +
				"kube-proxy.exe\n" + strings.Join(c.ProxyArgs(netip.Addr{}), "\n") + "\n" +
				"kube-proxy.exe with a source VIP\n" +
				strings.Join(c.ProxyArgs(netip.MustParseAddr("10.244.1.2")), "\n") + "\n" +
				kubenodetest.Tree(t, c.Dir, "hns.token", "resolv.conf") + kubenodetest.Tree(t, c.LogDir)
			golden.Assert(t, strings.ReplaceAll(text, dir, "DIR"), "given-"+name+".txt")
		})
	}
}

// TestAgentIsToldWhatToPullDirectly: what a proxy of the host's own variables is not asked for reaches the agent.
func TestAgentIsToldWhatToPullDirectly(t *testing.T) {
	c := sample(t)
	c.PullDirect = ".svc,10.213.0.0/24"
	file := filepath.Join(t.TempDir(), "agent.json")
	if err := c.agent().Save(file); err != nil {
		t.Fatal(err)
	}
	told, err := agentconfig.Load(file)
	if err != nil || told.PullDirect != c.PullDirect {
		t.Errorf("the agent pulls %q directly, want %q: %v", told.PullDirect, c.PullDirect, err)
	}
}
