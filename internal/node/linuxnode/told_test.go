package linuxnode

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/golden"

	"mullion.dev/mullion/internal/node/kubenode/kubenodetest"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
)

const bootstrapText = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443", certificate-authority: /somewhere/ca.crt}}]
users: [{name: u, user: {token: abcdef.0123456789abcdef}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// TestWhatANodeIsGiven holds all files and command lines of a node: a cluster that was made before comes up with them.
func TestWhatANodeIsGiven(t *testing.T) {
	mask := syscall.Umask(0o022)
	t.Cleanup(func() { syscall.Umask(mask) })
	for name, change := range map[string]func(*Config){
		"own": func(*Config) {},
		"joined": func(c *Config) {
			c.ProxyKubeconfig, c.ClusterDomain = "", "example.org"
			c.Taint = false
			c.Labels = nil
			c.ClusterDNS = netip.Addr{}
			c.NoCNI = true
			c.SystemReserved, c.KubeReserved = map[string]string{"cpu": "1"}, map[string]string{"memory": "1Gi"}
			c.After, c.KubeletAfter = component.Soles("a"), component.Soles("b")
			c.ProxyAfter = []component.ID{component.OfNode("identity", "linux-1")}
			c.Kubelet = map[string]any{
				"enableSystemLogQuery": true,
				"evictionHard":         map[string]any{"memory.available": "1Gi", "nodefs.available": nil},
			}

			c.KubeletExtraArgs = []spec.Arg{{Name: "v", Value: "4"}}
			c.KubeProxyExtraArgs = []spec.Arg{{Name: "v", Value: "5"}}
		},
		"bare": func(c *Config) { c.NoProxy = true },
		"old":  func(c *Config) { c.Version = "v1.20.15" },
		"overlay": func(c *Config) {
			c.Overlay, c.UplinkMTU = true, 1400
			dualStack(c)
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
			if err := c.writeHost(t.Context()); err != nil {
				t.Fatal(err)
			}
			units, err := Units(c)
			if err != nil {
				t.Fatal(err)
			}

			host, err := json.MarshalIndent(c.Host(), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			text := string(host) + "\n" + kubenodetest.Units(t, units) +
				kubenodetest.Tree(t, c.Dir, "resolv.conf") + kubenodetest.Tree(t, c.LogDir)
			golden.Assert(t, strings.ReplaceAll(text, dir, "DIR"), "given-"+name+".txt")
		})
	}
}
