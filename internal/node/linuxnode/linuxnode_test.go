package linuxnode

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/golden"

	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
)

func sample(t *testing.T) Config {
	t.Helper()
	dir := t.TempDir()
	return Config{
		Config: kubenode.Config{
			Name:                "linux-1",
			Address:             netip.MustParseAddr("10.213.0.11"),
			Dir:                 filepath.Join(dir, "nodes/linux-1"),
			RunDir:              "/run/mullion/12345678/nodes/linux-1",
			Netns:               filepath.Join(dir, "netns"),
			LogDir:              filepath.Join(dir, "logs"),
			Marker:              "/data",
			Cgroup:              "/mullion-12345678/linux-1",
			Server:              "https://10.213.0.1:6443",
			CAFile:              filepath.Join(dir, "ca.crt"),
			BootstrapKubeconfig: filepath.Join(dir, "bootstrap.kubeconfig"),
			ProxyKubeconfig:     filepath.Join(dir, "kube-proxy.kubeconfig"),
			PodSubnet:           netip.MustParsePrefix("10.244.0.0/16"),
			ServiceSubnet:       netip.MustParsePrefix("10.96.0.0/16"),
			NodeSubnet:          netip.MustParsePrefix("10.213.0.0/24"),
			ClusterDNS:          netip.MustParseAddr("10.96.0.10"),
			Taint:               true,
			Labels:              map[string]string{"b": "2", "a": "1"},
		},
		Bin:        filepath.Join(dir, "bin"),
		Kubernetes: filepath.Join(dir, "kubernetes"),
	}
}

// dualStack gives a node IPv6 besides.
func dualStack(c *Config) {
	c.Address6 = netip.MustParseAddr("fd00:213::b")
	c.PodSubnet6 = netip.MustParsePrefix("fd00:244::/48")
}

func TestWhatProgramsAreTold(t *testing.T) {
	c := sample(t)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, c.ContainerdTOML(), "containerd.toml")
	golden.Assert(t, c.CNITemplate(), "cni.conflist")
	c.Overlay = true
	golden.Assert(t, c.CNITemplate(), "cni-overlay.conflist")
	c.NoCNI = true
	if text := c.ContainerdTOML(); strings.Contains(text, "conf_template") ||
		!strings.Contains(text, `bin_dirs = ["/opt/cni/bin", "/opt/mullion/bin/cni"]`) {
		t.Errorf("containerd without Mullion's CNI configuration:\n%s", text)
	}
}

func TestInside(t *testing.T) {
	c := sample(t)
	bridged := c.inside()
	if c.Overlay = true; slices.Contains(c.inside(), c.NodeSubnet) || !slices.Contains(bridged, c.NodeSubnet) {
		t.Errorf("pods send to %v under their own addresses, in an overlay to %v", bridged, c.inside())
	}
}

func TestHostFiles(t *testing.T) {
	c := sample(t)
	if err := c.writeHost(t.Context()); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ name, path, want string }{
		{"hosts", "/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n10.213.0.11 linux-1\n"},
		{"protocols", "/etc/protocols", "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6-icmp 58 IPv6-ICMP\nsctp 132 SCTP\n"},
		{"hostname", "/etc/hostname", "linux-1\n"},
		{"containerd", containerdConfig, c.ContainerdTOML()},
		{"cni", cniTemplate, c.CNITemplate()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := os.ReadFile(c.Host().Path(tt.path)); err != nil || string(got) != tt.want {
				t.Errorf("%s: %q, %v", tt.path, got, err)
			}
		})
	}

	id := c.etcFiles()["machine-id"]
	other := c
	other.Name = "linux-2"
	if len(id) != 33 || id == other.etcFiles()["machine-id"] || id != c.etcFiles()["machine-id"] {
		t.Errorf("machine-id %q is not 32 digits of the node's own", id)
	}
}

func TestUnits(t *testing.T) {
	c := sample(t)
	c.After = []component.ID{component.OfNode("network", "linux-1")}
	c.KubeletAfter = component.Soles("bootstrap")
	units, err := Units(c)
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, u := range units {
		got = append(got, u.ID().String()+" after "+strings.Join(component.Texts(u.After), ", "))
	}

	want := []string{
		"host/linux-1 after network/linux-1", "containerd/linux-1 after host/linux-1",
		"kubelet/linux-1 after containerd/linux-1, bootstrap", "kube-proxy/linux-1 after kubelet/linux-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestValidate(t *testing.T) {
	if _, err := Units(Config{Config: kubenode.Config{Name: "x"}}); err == nil || !strings.Contains(err.Error(), "Netns is not set") ||
		!strings.Contains(err.Error(), "Address is not set") {
		t.Errorf("err = %v, want all that is missing", err)
	}
	c := sample(t)
	c.RunDir = "/run/" + strings.Repeat("x", 100)
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "107 are possible") {
		t.Errorf("err = %v, want one about the socket's path", err)
	}
}

// TestRegistryCredentials: credentials of registries stand in containerd's configuration, a quoted one as TOML wants
// it, under the host that is spoken to.
func TestRegistryCredentials(t *testing.T) {
	c := Config{}
	c.Registries = spec.Registries{Configs: map[string]spec.RegistryConfig{
		"registry.example:5000": {Auth: spec.RegistryAuth{Username: "me", Password: "a \"quoted\"\n\\ ü"}},
		"docker.io":             {Auth: spec.RegistryAuth{IdentityToken: "token"}},
		"plain.example":         {TLS: spec.RegistryTLS{InsecureSkipVerify: true}},
	}}

	const want = `
[plugins.'io.containerd.cri.v1.images'.registry]
  config_path = "/etc/containerd/certs.d"

[plugins.'io.containerd.cri.v1.images'.registry.configs."registry-1.docker.io".auth]
  identitytoken = "token"

[plugins.'io.containerd.cri.v1.images'.registry.configs."registry.example:5000".auth]
  username = "me"
  password = "a \"quoted\"\n\\ ü"

[plugins.'io.containerd.cri.v1.runtime']
`
	if got := c.ContainerdTOML(); !strings.Contains(got, want) {
		t.Errorf("containerd is told\n%s", got)
	}
}
