package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/spec"
)

const head = "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\n"

// dual is the head of a dual-stack cluster, up to other fields of its networking.
const dual = head + "networking:\n  podSubnet: 10.244.0.0/16,fd00:10:244::/56\n"

func TestLoad(t *testing.T) {
	c, err := spec.Load(
		strings.NewReader(
			head + "nodes:\n- os: windows\n  windowsVersion: ltsc2019\n  count: 2\n- name: big\n  taint: true\n"))
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, n := range c.Nodes {
		got = append(got, n.Name+" "+n.WindowsVersion)
	}

	if diff := cmp.Diff([]string{"win-1 ltsc2019", "win-2 ltsc2019", "big ltsc2025"}, got); diff != "" {
		t.Error(diff)
	}
	if got := c.Networking.Pods().String(); got != "10.244.0.0/16" {
		t.Errorf("pods = %s", got)
	}
	if c.Networking.Mode != spec.ModeL2Bridge || c.Networking.Profile != spec.ProfileFaithful {
		t.Errorf("networking = %+v, want l2bridge and faithful", c.Networking)
	}
}

func TestAddons(t *testing.T) {
	for _, tt := range []struct {
		in              string
		metrics, volume bool
	}{
		{"", true, true},
		{"addons: {}\n", true, true},
		{"addons: {metricsServer: false}\n", false, true},
		{"addons: {localStorage: false, metricsServer: true}\n", true, false},
		{"addons: {gmsa: true}\n", true, true},
	} {
		c, err := spec.Load(strings.NewReader(head + tt.in + "nodes: [{}]\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if !*c.Addons.GMSA {
			t.Errorf("%q: gmsa is off", tt.in)
		}

		if metrics, volume := *c.Addons.MetricsServer, *c.Addons.LocalStorage; metrics != tt.metrics ||
			volume != tt.volume {
			t.Errorf("%q: metricsServer %v, localStorage %v, want %v, %v", tt.in, metrics, volume, tt.metrics,
				tt.volume)
		}
	}
}

func TestPolicies(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "{mode: overlay}": true, "{mode: l2tunnel}": true, "{mode: nat}": false, "{mode: transparent}": false,
		"{networkPolicy: false}": false, "{networkPolicy: true}": true, "{disableDefaultCNI: true}": false,
		"{mode: overlay, disableDefaultCNI: true}": false,
	} {
		if text != "" {
			text = "networking: " + text + "\n"
		}
		c, err := spec.Load(strings.NewReader(head + text + "nodes: [{}]\n"))
		if err != nil || c.Networking.Policies() != want || c.Networking.WindowsPolicies() != want {
			t.Errorf("%q: %t, %v", text, c.Networking.Policies(), err)
		}
	}

	c, err := spec.Load(strings.NewReader(head + "networking: {windowsNetworkPolicy: external}\nnodes: [{}]\n"))
	if err != nil || !c.Networking.Policies() || c.Networking.WindowsPolicies() {
		t.Errorf("external: %t, %t, %v", c.Networking.Policies(), c.Networking.WindowsPolicies(), err)
	}
}

func TestDefault(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []string
		want string
	}{
		{"nothing_asked", nil, "linux-1 , win-1 ltsc2025, win-2 ltsc2025"},
		{"versions", []string{"ltsc2019", "20h2"}, "linux-1 , win-1 ltsc2019, win-2 20h2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, n := range spec.Default(tt.in, false, "").Nodes {
				got = append(got, n.Name+" "+n.WindowsVersion)
			}
			if got := strings.Join(got, ", "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestMixedNodes(t *testing.T) {
	c, err := spec.Load(
		strings.NewReader(
			head + "nodes:\n- count: 2\n- os: linux\n  count: 2\n  taint: true\n- os: linux\n  name: a-linux-node-with-a-long-name\n"))
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, n := range c.Nodes {
		got = append(got, n.OS+" "+n.Name+" "+n.WindowsVersion)
	}

	want := []string{
		"windows win-1 ltsc2025", "windows win-2 ltsc2025", "linux linux-1 ", "linux linux-2 ",
		"linux a-linux-node-with-a-long-name ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	if err := c.Validate(); err != nil {
		t.Errorf("once resolved: %v", err)
	}
}

func TestLoadNamesLineAndField(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", "the file is empty"},
		{
			"unknown_field", head + "nodes:\n- os: windows\n  windowsVersoin: x\n",
			`line 5: unknown field "windowsVersoin" in node`,
		},
		{
			"control_planes", head + "controlPlane: {count: 3}\nnodes: [{os: windows}]\n",
			`line 3: unknown field "controlPlane" in cluster: it has one control plane; kubeadm makes several`,
		},
		{
			"control_plane_of_node", head + "nodes:\n- os: windows\n  controlPlane: true\n",
			`line 5: unknown field "controlPlane" in node`,
		},
		{
			"unknown_version", head + "nodes:\n- os: windows\n  windowsVersion: xp\n",
			"line 5: nodes[0].windowsVersion: ",
		},
		{"wine", head + "wine: opt/wine\nnodes: [{}]\n", `line 3: wine: "opt/wine" is not the absolute path of a folder`},
		{"wrong_type", head + "nodes:\n- count: many\n", "line 4: `many` is not of type int"},
		{
			"bad_subnet", head + "networking:\n  podSubnet: 10.0\nnodes: [{os: windows}]\n",
			`line 4: networking.podSubnet: "10.0" is not an IPv4 subnet`,
		},
		{
			"overlap", head + "networking:\n  podSubnet: 10.96.0.0/12\nnodes: [{os: windows}]\n",
			"networking.serviceSubnet: 10.96.0.0/16 overlaps 10.96.0.0/12",
		},
		{
			"mode", head + "networking:\n  mode: bridge\nnodes: [{os: windows}]\n",
			`line 4: networking.mode: "bridge" is none of l2bridge, overlay, l2tunnel, nat, transparent`,
		},
		{
			"mode_spelling", head + "networking:\n  mode: L2Bridge\nnodes: [{os: windows}]\n",
			`networking.mode: "L2Bridge" is written "l2bridge"`,
		},
		{
			"profile", head + "networking:\n  profile: new\nnodes: [{os: windows}]\n",
			`line 4: networking.profile: "new" is none of faithful, modern`,
		},
		{
			"dsr_without_proxy", head + "networking:\n  mode: nat\n  enableDSR: true\nnodes: [{os: windows}]\n",
			"line 5: networking.enableDSR: kube-proxy does not run",
		},
		{
			"proxy_mode", head + "networking:\n  kubeProxyMode: iptables\nnodes: [{}]\n",
			`line 4: networking.kubeProxyMode: "iptables" is not "none"; leave it out for mode kernelspace`,
		},
		{
			"dsr_of_none", head + "networking:\n  kubeProxyMode: none\n  enableDSR: true\nnodes: [{}]\n",
			"line 5: networking.enableDSR: is for Mullion's own kube-proxy",
		},
		{
			"policies_of_nat", head + "networking:\n  mode: nat\n  networkPolicy: true\nnodes: [{}]\n",
			"line 5: networking.networkPolicy: in mode nat the nodes do not see the addresses",
		},
		{
			"policies_of_transparent", head + "networking:\n  mode: transparent\n  networkPolicy: true\nnodes: [{}]\n",
			"line 5: networking.networkPolicy: in mode transparent pods' packets do not pass",
		},
		{
			"policies_of_others", head + "networking:\n  disableDefaultCNI: true\n  networkPolicy: true\nnodes: [{}]\n",
			"line 5: networking.networkPolicy: with disableDefaultCNI policies are left",
		},
		{
			"windows_policies_of_nobody", head + "networking:\n  windowsNetworkPolicy: calico\nnodes: [{}]\n",
			`line 4: networking.windowsNetworkPolicy: "calico" is not "external"`,
		},
		{
			"windows_policies_where_there_are_none", head +
				"networking:\n  networkPolicy: false\n  windowsNetworkPolicy: external\nnodes: [{}]\n",
			"line 5: networking.windowsNetworkPolicy: Mullion carries out no policies",
		},
		{
			"no_cni_of_nat", head + "networking:\n  mode: nat\n  disableDefaultCNI: true\nnodes: [{}]\n",
			"line 5: networking.disableDefaultCNI: mode nat has no CNI plugin",
		},
		{
			"pool", head + "networking:\n  loadBalancerPool: 10.213.0.224\nnodes: [{}]\n",
			`line 4: networking.loadBalancerPool: "10.213.0.224" is not an IPv4 subnet`,
		},
		{
			"pool_of_nodes", head + "networking:\n  loadBalancerPool: 10.213.0.12/31\nnodes: [{count: 2}]\n",
			"10.213.0.12/31 has addresses of nodes: 10.213.0.11 to 10.213.0.12",
		},
		{
			"pool_of_endpoint", head + "networking:\n  loadBalancerPool: 10.213.0.10/32\nnodes: [{os: linux, bare: true}]\n",
			"has addresses of the control planes of bare Linux hosts: 10.213.0.10 to 10.213.0.10",
		},
		{
			"pool_of_machine", head + "networking:\n  loadBalancerPool: 10.213.0.240/28\nnodes: [{}]\n",
			"has addresses of the machine: 10.213.0.254",
		},
		{
			"pool_of_pods", head + "networking:\n  loadBalancerPool: 10.244.9.0/24\nnodes: [{}]\n",
			"10.244.9.0/24 overlaps 10.244.0.0/16",
		},
		{
			"pool_shared", head + "networking:\n  mode: transparent\n  loadBalancerPool: 10.213.0.192/28\nnodes: [{}]\n",
			"pods in mode transparent: 10.213.0.128 to 10.213.0.223",
		},
		{
			"pool6_alone", head + "networking:\n  loadBalancerPool: 10.213.0.224/28,fd00::/124\nnodes: [{}]\n",
			"line 4: networking.loadBalancerPool: \"10.213.0.224/28,fd00::/124\" has IPv6 addresses, and the cluster has none",
		},
		{
			"pool6_large", dual + "  loadBalancerPool: 10.213.0.224/28,fd00::/64\nnodes: [{}]\n",
			`"fd00::/64" is not an IPv6 subnet of at most 65536 addresses`,
		},
		{
			"pool6_of_nodes", dual + "  loadBalancerPool: 10.213.0.224/28,fd00:10:213::c/127\nnodes: [{count: 2}]\n",
			"fd00:10:213::c/127 has addresses of nodes: fd00:10:213::b to fd00:10:213::c",
		},
		{
			"pool6_of_services", dual + "  loadBalancerPool: 10.213.0.224/28,fd00:10:96::/120\nnodes: [{}]\n",
			"fd00:10:96::/120 overlaps fd00:10:96::/112",
		},
		{
			"pool6_of_machines", dual + "  advertiseAddress: 192.0.2.1\n" +
				"  loadBalancerPool: 10.213.0.224/28,fd00:10:213::1e0/124\nnodes: [{}]\n",
			"fd00:10:213::1e0/124 has addresses of other machines: fd00:10:213::100 to fd00:10:213::ffff",
		},
		{
			"pool6_local", dual + "  loadBalancerPool: 10.213.0.224/28,fe80::/120\nnodes: [{}]\n",
			"fe80::/120: choose addresses that can be routed",
		},
		{"no_nodes", head, "nodes: a cluster needs at least one node"},
		{
			"advertise", head + "networking:\n  advertiseAddress: 127.0.0.1\n",
			`line 4: networking.advertiseAddress: "127.0.0.1" is not an IPv4 address at which other machines reach`,
		},
		{
			"advertise_small", head + "networking:\n  advertiseAddress: 192.0.2.1\n  underlaySubnet: 10.213.0.0/24\n",
			"line 5: networking.underlaySubnet: 10.213.0.0/24 has room for one machine",
		},
		{
			"advertise_pool", head + "networking:\n  advertiseAddress: 192.0.2.1\n  loadBalancerPool: 10.213.1.224/28\n",
			"has addresses of other machines: 10.213.1.0",
		},
		{"join", head + "join: {part: 1}\nnodes: [{}]\n", `unknown field "join" in cluster`},
		{"api_version", "apiVersion: v1\nkind: Cluster\nnodes: [{}]\n", `line 1: apiVersion: is "v1"`},
		{"same_name", head + "nodes:\n- name: a\n- name: a\n", `two nodes are called "a"`},
		{"long_name", head + "nodes:\n- name: a-windows-node-too-long\n", "15 characters"},
		{
			"linux_with_version", head + "nodes:\n- os: linux\n  windowsVersion: ltsc2022\n",
			"line 5: nodes[0].windowsVersion: is for a Windows node",
		},
		{
			"unknown_os", head + "nodes:\n- os: plan9\n",
			`line 4: nodes[0].os: "plan9" is not an operating system of a node: windows or linux`,
		},
		{
			"too_long_name", head + "nodes:\n- os: linux\n  name: " + strings.Repeat("n", 41) + "\n",
			"more than 40 characters",
		},
		{
			"processors_of_linux", head + "nodes:\n- os: linux\n  processors: {sockets: 2}\n",
			"nodes[0].processors: is for a Windows node",
		},
		{
			"processors_too_many", head + "nodes:\n- processors: {sockets: 5, coresPerSocket: 13}\n",
			"line 4: nodes[0].processors: 65 processors are more than a processor group",
		},
		{
			"processors_negative", head + "nodes:\n- processors: {sockets: -1, coresPerSocket: -4}\n",
			"nodes[0].processors: -1 is not from 1 to 64",
		},
		{
			"pause_image_of_linux", head + "nodes:\n- os: linux\n  pauseImage: mullion.local/pause:v1\n",
			"nodes[0].pauseImage: is for a Windows node",
		},
		{
			"pause_image_no_reference", head + "nodes:\n- pauseImage: \"a b\"\n",
			`line 4: nodes[0].pauseImage: "a b" is not a reference of an image; Mullion's own is mullion.local/pause:v1`,
		},
		{
			"pause_image_of_2016", head + "nodes:\n- pauseImage: registry.k8s.io/pause:3.10.2\n  windowsVersion: ltsc2016\n",
			"nodes[0].pauseImage: ltsc2016 lets no two containers share a network",
		},
		{
			"processors_overflow", head + "nodes:\n- processors: {threadsPerCore: 4294967297}\n",
			"nodes[0].processors: 4294967297 is not from 1 to 64",
		},
		{
			"memory_of_linux", head + "nodes:\n- os: linux\n  memory: 4Gi\n",
			"nodes[0].memory: is for a Windows node",
		},
		{
			"memory_in_words", head + "nodes:\n- memory: lots\n",
			`line 4: nodes[0].memory: "lots" is not a quantity of memory`,
		},
		{
			"memory_negative", head + "nodes:\n- memory: -4Gi\n",
			`nodes[0].memory: "-4Gi" is not a quantity of memory`,
		},
		{
			"memory_in_thousandths", head + "nodes:\n- memory: 5000000000000m\n",
			`nodes[0].memory: "5000000000000m" is not a quantity of memory`,
		},
		{
			"memory_too_little", head + "nodes:\n- memory: 1023Mi\n",
			"nodes[0].memory: 1023Mi is less than a Windows node can do with",
		},
		{
			"memory_without_unit", head + "nodes:\n- memory: 4\n",
			"nodes[0].memory: 4 is less than a Windows node can do with",
		},
		{
			"memory_too_much", head + "nodes:\n- memory: 99999999999Ti\n",
			"nodes[0].memory: 99999999999Ti is more than any machine has",
		},
		{
			"reserved", head + "nodes:\n- kubeReserved:\n    memory: lots\n",
			`line 5: nodes[0].kubeReserved.memory: "lots" is not a quantity`,
		},
		{
			"reserved_unknown", head + "nodes:\n- systemReserved: {disk: 1Gi}\n",
			"nodes[0].systemReserved.disk: is none of cpu, memory, ephemeral-storage",
		},
		{
			"kubelet_own", head + "nodes:\n- kubeletConfiguration:\n    maxPods: 9\n    port: 1\n",
			"line 6: nodes[0].kubeletConfiguration.port: port is Mullion's to set",
		},
		{
			"kubelet_equal", head + "nodes:\n- kubeletConfiguration: {kubeReserved: {cpu: 1}}\n",
			"kubeReserved is given by kubeReserved in cluster.yaml",
		},
		{
			"kubelet_case", head + "nodes:\n- kubeletConfiguration: {Port: 1}\n",
			"nodes[0].kubeletConfiguration.Port: Port is Mullion's to set",
		},
		{
			"flag_underscore", head + "nodes:\n- kubeletExtraArgs: [{name: node_ip, value: 10.0.0.1}]\n",
			"nodes[0].kubeletExtraArgs[0]: node-ip is Mullion's to set",
		},
		{
			"flag_of_a_field", head + "nodes:\n- kubeletExtraArgs: [{name: healthz-port, value: '1'}]\n",
			"healthz-port is Mullion's to set",
		},
		{"kubelet_list", head + "nodes:\n- kubeletConfiguration: [a]\n", "line 4"},
		{"kubelet_key", head + "nodes:\n- kubeletConfiguration: {evictionHard: {1: a}}\n", "line 4: a configuration"},
		{
			"flag_own", head + "nodes:\n- kubeletExtraArgs:\n  - {name: v, value: '4'}\n  - {name: config, value: x}\n",
			"line 6: nodes[0].kubeletExtraArgs[1]: config is Mullion's to set",
		},
		{
			"flag_equal", head + "nodes:\n- kubeProxyExtraArgs: [{name: enable-dsr, value: 'true'}]\n",
			"enable-dsr is given by networking.enableDSR",
		},
		{
			"flag_dashes", head + "nodes:\n- kubeProxyExtraArgs: [{name: --v, value: '4'}]\n",
			`kubeProxyExtraArgs[0].name: "--v" is not the name of a flag without its dashes`,
		},
		{
			"flag_line", head + "nodes:\n- kubeletExtraArgs: [{name: v, value: \"4\\n--config=x\"}]\n",
			"kubeletExtraArgs[0].value: has a control character",
		},
		{"two", head + "nodes: [{}]\n---\n" + head + "nodes: [{}]\n", "a second document"},
		{"flag_map", head + "nodes:\n- kubeletExtraArgs: {v: 4}\n", `line 4: is no list of flags such as [{name: v, value: "4"}]`},
		{"addon", head + "addons: {dashboard: true}\nnodes: [{}]\n", `line 3: unknown field "dashboard" in addons`},
		{
			"six_alone", head + "networking:\n  podSubnet: fd00::/56\nnodes: [{}]\n",
			`line 4: networking.podSubnet: "fd00::/56" has only IPv6, which Windows does not support`,
		},
		{
			"six_first", head + "networking:\n  podSubnet: fd00::/56,10.244.0.0/16\nnodes: [{}]\n",
			"the IPv4 subnet has to come first",
		},
		{
			"two_of_four", head + "networking:\n  podSubnet: 10.244.0.0/16,10.245.0.0/16\nnodes: [{}]\n",
			`"10.245.0.0/16" is not an IPv6 subnet`,
		},
		{
			"three", head + "networking:\n  podSubnet: 10.244.0.0/16,fd00::/56,fd01::/56\nnodes: [{}]\n",
			"is not an IPv6 subnet",
		},
		{
			"six_length", head + "networking:\n  podSubnet: 10.244.0.0/16,fd00::/64\nnodes: [{}]\n",
			"the prefix length must be between 48 and 56",
		},
		{
			"six_services", head + "networking:\n  serviceSubnet: 10.96.0.0/16,fd00::/64\nnodes: [{}]\n",
			"the prefix length must be between 108 and 120",
		},
		{
			"six_link_local", head + "networking:\n  podSubnet: 10.244.0.0/16,fe80::/56\nnodes: [{}]\n",
			"choose a subnet of addresses that can be routed",
		},
		{"six_overlap", head + "networking:\n  podSubnet: 10.244.0.0/16,fd00::/56\n  serviceSubnet: 10.96.0.0/16,fd00::/112\nnodes: [{}]\n", "networking.serviceSubnet: fd00::/112 overlaps fd00::/56"},
		{
			"dual_overlay", head + "networking:\n  mode: overlay\n  podSubnet: 10.244.0.0/16,fd00::/56\nnodes: [{}]\n",
			"line 5: networking.podSubnet: dual stack in mode overlay: overlay (VXLAN) networks on Windows have no dual-stack support",
		},
		{
			"dual_nat", head + "networking:\n  mode: nat\n  serviceSubnet: 10.96.0.0/16,fd00::/112\nnodes: [{}]\n",
			"dual stack in mode nat: NAT networks on Windows are of IPv4",
		},
		{"not_yaml", "a: [", "line 1"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := spec.Load(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load() = %v, want it to contain %q", err, tt.want)
			}
		})
	}
}

func TestSeveralMachines(t *testing.T) {
	c, err := spec.Load(strings.NewReader(head + "networking: {advertiseAddress: 192.0.2.1}\n"))
	if err != nil {
		t.Fatal(err)
	}

	n := c.Networking
	if len(c.Nodes) != 0 || n.APIServerAddress != "192.0.2.1" || n.APIServerPort != 6443 || n.Parts() != 256 ||
		n.AdvertisedServer() != "https://192.0.2.1:6443" {
		t.Errorf("a server is %+v", c)
	}
	if got := n.LoadBalancers().String(); got != "10.213.0.224/28" {
		t.Errorf("load balancers' addresses are %s", got)
	}

	c.Join = &spec.Join{
		Server:  n.AdvertisedServer(),
		Part:    3,
		Address: "192.0.2.4",
	}

	c.Nodes = []spec.Node{{Count: 2}, {OS: spec.Linux}}
	joined := c.WithDefaults()
	if err := joined.Validate(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, node := range joined.Nodes {
		names = append(names, node.Name)
	}

	if diff := cmp.Diff([]string{"m3-win-1", "m3-win-2", "m3-linux-1"}, names); diff != "" {
		t.Error(diff)
	}
	if at := n.PartAddress(joined.Part()).String(); at != "10.213.3.0" || joined.Address().String() != "192.0.2.4" ||
		c.Part() != 3 {
		t.Errorf("the machine is at %s of the underlay, reached at %s", at, joined.Address())
	}

	for name, j := range map[string]spec.Join{
		"the server's part": {
			Part:    0,
			Address: "192.0.2.4",
		}, "no such part": {Part: 256, Address: "192.0.2.4"}, "no address": {Part: 1},
	} {
		joined.Join = &j
		if err := joined.Validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestKubernetesVersion takes what a release, a minor version and a build of one's own are called, and nothing that
// could be a path.
func TestKubernetesVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"1.35": true, "v1.35": true, "1.35.8": true, "v1.35.8": true, "v1.36.0-rc.1": true, "v1.36.3-dirty": true,
		"v1.37.0-alpha.1.7+0a1b2c3d4e5f67": true, "v1.36.3+k3s1": true,
		"latest": false, "2.0": false, "v1.36.3/..": false, "v1.36.3-": false, "v1.36-rc.1": false, "1.36.3 ": false,
		"v1.36.3+a/b": false,
	} {
		c := spec.Default(nil, false, "")
		c.KubernetesVersion = version
		if err := c.Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// Who leaves out Mullion's CNI plugin in mode overlay makes the overlay too.
func TestOwnOverlay(t *testing.T) {
	for text, want := range map[string]bool{
		"{mode: overlay}": true, "{mode: overlay, disableDefaultCNI: true}": false, "{mode: l2bridge}": false,
		"{mode: overlay, kubeProxyMode: none}":                          true,
		"{mode: overlay, disableDefaultCNI: true, kubeProxyMode: none}": false,
	} {
		c, err := spec.Load(strings.NewReader(head + "networking: " + text + "\nnodes: [{}]\n"))
		if err != nil || c.Networking.OwnOverlay() != want {
			t.Errorf("%q: %t, %v", text, c.Networking.OwnOverlay(), err)
		}
	}
}
