package diagnose

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/base/podowner"
)

const network = tips + "#troubleshooting-network"

func networkProbes() []Probe {
	return []Probe{
		{
			ID:     "kube-proxy-node-name",
			Title:  "kube-proxy does not know which node it runs on",
			Items:  []int{6},
			Source: Source{"vNICs and HNS endpoints of containers are being deleted", network},
			Looks:  "kube-proxy's events, its pods' commands on Windows nodes, names and hostnames of nodes, its command line",
			Needs:  []Need{Events},
			Cause: "kube-proxy takes the machine's hostname for the node's name; where the two differ it takes the node's own " +
				"pods for another node's, and makes and deletes HNS endpoints for them",
			Remedies: []string{
				"give kube-proxy the node's name: `--hostname-override=NODE` (`hostnameOverride` in its configuration; " +
					"in a pod the variable NODE_NAME from spec.nodeName), and restart it",
			},
			look: proxyNodeName,
		},
		{
			ID:     "kube-proxy-feature-gate",
			Title:  "kube-proxy ends for a feature gate or flag that its version does not have",
			Source: Source{"Feature gates that were removed", "https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates-removed/"},
			Looks:  "logs of kube-proxy's pods on Windows nodes",
			Needs:  []Need{Logs},
			Cause: "a gate is removed some versions after its feature is generally available, such as WinDSR and WinOverlay; " +
				"kube-proxy does not start with one that it does not know",
			Remedies: []string{"take the gate out of kube-proxy's --feature-gates or its ConfigMap, and restart its pods"},
			look: func(v *view) []Finding {
				return logged(v, lazyregexp.New(`(?i)unrecognized feature gate|unknown feature gate|unknown flag:|`+
					`cannot set feature gate`))
			},
		},
		networkChangedProbe(),
		{
			ID:     "hns-network-missing",
			Title:  "a node has no HNS network for its pods",
			Items:  []int{11},
			Source: Source{"No network adapter is found when starting the kubelet", network},
			Looks:  "events of pods on Windows nodes, logs of kube-proxy and flannel, the node's HNS networks",
			Needs:  []Need{Pods, Events},
			Cause: "the virtual network that pods and kube-proxy need was not made, or was removed: often the network plugin " +
				"was given the name of an adapter that the machine does not have",
			Remedies: []string{
				"on the node: `Get-HnsNetwork | ? Name -ieq \"cbr0\"` and `Get-NetAdapter | ? Name -Like \"vEthernet (Ethernet*\"`; " +
					"the network's name has to be the one in KUBE_NETWORK or kube-proxy's `networkName`",
				"give the network plugin the machine's adapter (flannel: `--iface`, start.ps1: InterfaceName), and restart its pod",
			},
			look: networkMissing,
		},
		{
			ID:     "hns-network-stale",
			Title:  "HNS still has networks or endpoints of an earlier configuration",
			Items:  []int{7},
			Source: Source{"hnsCall failed in Win32: the object already exists", "https://github.com/kubernetes/kubernetes/issues/72696"},
			Looks:  "events of pods on Windows nodes, logs of kube-proxy and flannel",
			Needs:  []Need{Pods, Events},
			Cause: "HNS keeps networks and endpoints over restarts; those of an earlier subnet, mode or pod stand in the way " +
				"of new ones",
			Remedies: []string{
				"drain the node, then on it: `Stop-Service kubelet, kube-proxy; Get-HnsNetwork | ? Name -ne nat | Remove-HnsNetwork`, " +
					"and start the machine again",
			},
			look: func(v *view) []Finding {
				const stale = `(?i)(hns|hcn|endpoint|network).*(object already exists|already exists\. \(0x1392\)|0x803b0013|` +
					`element not found|0x490\b)`
				return slices.Concat(said(stale, "")(v), logged(v, regexp.MustCompile(stale)))
			},
		},
		{
			ID:     "pod-network",
			Title:  "no pod of a node answers its probes",
			Items:  []int{3},
			Source: Source{"My Windows Pods do not have network connectivity", network},
			Looks:  "events of probes of pods on Windows nodes",
			Needs:  []Need{Pods, Events},
			Cause: "packets to the pods' own addresses do not arrive: on a virtual machine its adapter drops what does not " +
				"have its own MAC address, unless MAC spoofing is allowed",
			Remedies: []string{
				"allow MAC address spoofing on the virtual machine's adapters (Hyper-V: `Set-VMNetworkAdapter -VMName VM " +
					"-MacAddressSpoofing On`; vSphere: forged transmits and MAC changes)",
				"or use a network that needs no addresses of its own on the wire: mode overlay",
			},
			look: podNetwork,
		},
		{
			ID:     "outbound-exceptions",
			Title:  "the network plugin's exceptions from outbound NAT are not as they should be",
			Items:  []int{4},
			Source: Source{"My Windows Pods cannot ping external resources: ExceptionList in cni.conf", network},
			Looks:  "ExceptionList and Exceptions in flannel's ConfigMaps and the node's CNI configuration",
			Needs:  []Need{ConfigMaps},
			Cause: "what is in the list is sent without NAT: it has to have the pods' and Services' subnets, and nothing " +
				"outside of the cluster, from which no answer would come back",
			Remedies: []string{
				"set the list to the cluster's pod subnet, its service subnet and the nodes' subnet, then restart the plugin's " +
					"pods; pods made from then on have it",
			},
			look: exceptions,
		},
		{
			ID:     "pod-pings",
			Title:  "a pod waits for ping to reach something outside",
			Items:  []int{4},
			Source: Source{"My Windows Pods cannot ping external resources", network},
			Looks:  "commands and probes of pods on Windows nodes that are not Ready",
			Needs:  []Need{Pods},
			Cause:  "outbound NAT of Windows pods knows TCP and UDP and not ICMP: ping to outside of the cluster gets no answer",
			Remedies: []string{
				"test with TCP instead: `curl.exe -v https://HOST` or `Test-NetConnection HOST -Port 443`",
			},
			look: pings,
		},
		{
			ID:     "host-uses-node-port",
			Title:  "a HostProcess pod uses a NodePort of its own node",
			Items:  []int{5},
			Source: Source{"My Windows node cannot access NodePort type Services", network},
			Looks:  "commands and variables of HostProcess pods, NodePorts",
			Needs:  []Need{Pods, Services},
			Cause:  "a Windows node does not reach NodePorts at its own address; other nodes and clients outside do",
			Remedies: []string{
				"ask another node's address, or the pods themselves by a headless Service",
			},
			look: hostNodePort,
		},
		{
			ID:     "host-uses-service",
			Title:  "a HostProcess pod uses a Service's address",
			Items:  []int{10},
			Source: Source{"My Windows node cannot access my services using the service IP", network},
			Looks:  "commands and variables of HostProcess pods that are not Ready, addresses of Services",
			Needs:  []Need{Pods, Services},
			Cause:  "a Windows node itself does not reach the addresses of Services in the networks l2bridge and overlay; its pods do",
			Remedies: []string{
				"name pods by a headless Service, or the API server by its own address as in `kubectl cluster-info`",
			},
			look: hostService,
		},
	}
}

var proxyName = lazyregexp.New(`kube-?proxy`)

// proxyNodeName looks for kube-proxies that take another name than the node's: by their events, which name the node
// that they believe to be on
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/cmd/kube-proxy/app/server.go, NodeRef), by their commands, and
// by the command line of the process itself.
func proxyNodeName(v *view) []Finding {
	var h hits
	for _, name := range v.misnamed() {
		object := "kube-proxy on host " + name
		for _, n := range v.windows {
			if strings.EqualFold(hostname(n), name) {
				object = "node " + n.Name
			}
		}
		h.add(object, fmt.Sprintf("kube-proxy's events are about node %q, and there is no such node", name))
	}

	for _, p := range v.pods {
		if n := v.node(p.Spec.NodeName); n != nil && proxyName.MatchString(p.Name) && differs(n) && !v.named(p) {
			h.add("node "+n.Name, fmt.Sprintf("pod %s/%s does not give kube-proxy a name, and the node's hostname is %q",
				p.Namespace, p.Name, n.Labels[corev1.LabelHostname]))
		}
	}

	for _, node := range keys(v.Facts) {
		for _, line := range v.Facts[node].Processes {
			if program(line) == "kube-proxy" && !strings.Contains(line, "--hostname-override") &&
				!strings.Contains(line, "--config") && !strings.EqualFold(v.Facts[node].Hostname, node) {
				h.add("node "+node, "kube-proxy runs as "+shorten(line)+", and the hostname is "+v.Facts[node].Hostname)
			}
		}
	}

	return h.findings()
}

// misnamed returns the names of nodes that only kube-proxy knows: a node that was deleted has events of others too.
func (v *view) misnamed() []string {
	if len(v.windows) == 0 || len(v.Chosen) > 0 {
		return nil
	}
	only := map[string]bool{}
	for i := range v.Events {
		e := &v.Events[i]
		if name := e.InvolvedObject.Name; e.InvolvedObject.Kind == "Node" && v.node(name) == nil {
			before, known := only[name]
			only[name] = (before || !known) && cmp.Or(e.ReportingController, e.Source.Component) == "kube-proxy"
		}
	}
	return slices.DeleteFunc(keys(only), func(name string) bool { return !only[name] })
}

// hostname returns what a node says that it is called.
func hostname(n *corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeHostName {
			return a.Address
		}
	}
	return cmp.Or(n.Labels[corev1.LabelHostname], n.Name)
}

// differs reports whether a node's name is not its label kubernetes.io/hostname, which the kubelet sets to the
// machine's name unless it is given another.
func differs(n *corev1.Node) bool {
	label := n.Labels[corev1.LabelHostname]
	return label != "" && !strings.EqualFold(label, n.Name)
}

// named reports whether a pod of kube-proxy is given the node's name by flag, variable or configuration.
func (v *view) named(p *corev1.Pod) bool {
	const flag = "hostname-override"
	for _, c := range containers(p) {
		if strings.Contains(strings.Join(slices.Concat(c.Command, c.Args), " "), flag) {
			return true
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && e.ValueFrom.FieldRef.FieldPath == "spec.nodeName" {
				return true
			}
		}
	}

	return slices.ContainsFunc(v.ConfigMaps, func(m corev1.ConfigMap) bool {
		for _, text := range m.Data {
			if m.Namespace == p.Namespace && strings.Contains(m.Name, "proxy") && strings.Contains(text, flag) {
				return true
			}
		}
		return false
	})
}

// noNetwork is what hnslib (https://github.com/microsoft/hnslib/blob/v0.1.3/hcn/hcnerrors.go), kube-proxy and the CNI
// plugins say of a network that is not there; 0x803b0001 is HCN_E_NETWORK_NOT_FOUND.
var noNetwork = lazyregexp.New(`(?i)network (name|id)? ?"?[\w.*-]+"? not found|network was not found|0x803b0001|` +
	`unable to find hns network|no network adapter|0x803b0006|adapter was not found`)

func networkMissing(v *view) []Finding {
	var h hits
	for _, p := range v.pods {
		if s, ok := v.saysOf(p, noNetwork, nil); ok {
			h.add("node "+p.Spec.NodeName, s.line(p))
		}
	}

	for _, node := range keys(v.Facts) {
		f := v.Facts[node]
		if !f.NetworksKnown {
			continue
		}
		if len(f.Networks) == 0 {
			h.add("node "+node, "HNS has no network")
			continue
		}

		want := f.Variables["KUBE_NETWORK"]
		if want != "" && !slices.ContainsFunc(f.Networks, func(n HNSNetwork) bool { return strings.EqualFold(n.Name, want) }) {
			h.add("node "+node, fmt.Sprintf("KUBE_NETWORK is %q, and no network of HNS has that name", want))
		}
	}

	return slices.Concat(h.findings(), logged(v, noNetwork))
}

// noAnswer is what the kubelet's probes say when a pod's address does not answer at all.
var noAnswer = lazyregexp.New(`(?i)(readiness|liveness|startup) probe failed.*(context deadline exceeded|i/o timeout|` +
	`Client\.Timeout exceeded|connectex: a connection attempt failed|no route to host|host is unreachable)`)

// fewest is the number of pods of a node from which on it is the network, and not a program.
const fewest = 2

func podNetwork(v *view) []Finding {
	var h hits
	silent, all := map[string]int{}, map[string]int{}
	for _, p := range v.pods {
		if p.Spec.HostNetwork || !probed(p) || p.Status.PodIP == "" {
			continue
		}
		all[p.Spec.NodeName]++
		if s, ok := v.saysOf(p, noAnswer, nil); ok {
			silent[p.Spec.NodeName]++
			h.add("node "+p.Spec.NodeName, s.line(p))
		}
	}

	return slices.DeleteFunc(h.findings(), func(f Finding) bool {
		node := strings.TrimPrefix(f.Object, "node ")
		return silent[node] < fewest || silent[node] < all[node]
	})
}

// probed reports whether a pod has a probe that goes over the network.
func probed(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc([]*corev1.Probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe},
			func(p *corev1.Probe) bool {
				return p != nil && (p.HTTPGet != nil || p.TCPSocket != nil || p.GRPC != nil)
			})
	})
}

// exceptions looks at the lists of addresses without NAT in the CNI configurations of ConfigMaps and nodes.
func exceptions(v *view) []Finding {
	var h hits
	for i := range v.ConfigMaps {
		m := &v.ConfigMaps[i]
		for _, key := range keys(m.Data) {
			for _, wrong := range v.wrongExceptions(m.Data[key]) {
				h.add(fmt.Sprintf("configmap %s/%s", m.Namespace, m.Name), key+": "+wrong)
			}
		}
	}

	for _, node := range keys(v.Facts) {
		for _, path := range keys(v.Facts[node].Files) {
			for _, wrong := range v.wrongExceptions(v.Facts[node].Files[path]) {
				h.add("node "+node, path+": "+wrong)
			}
		}
	}

	return h.findings()
}

// wrongExceptions says what is wrong with the exceptions in a CNI configuration, nothing if it has none or is none.
func (v *view) wrongExceptions(text string) []string {
	var conf any
	if json.Unmarshal([]byte(text), &conf) != nil {
		return nil
	}

	var lists [][]string
	collect(conf, &lists)
	var wrong []string
	for _, list := range lists {
		var ranges []netip.Prefix
		for _, each := range list {
			r, err := netip.ParsePrefix(each)
			switch {
			case err != nil:
				wrong = append(wrong, fmt.Sprintf("%q is no subnet", each))
			case r.Bits() == 0:
				wrong = append(wrong, each+" takes everything outside of the cluster from NAT")
			}
			ranges = append(ranges, r)
		}

		for _, need := range v.inside() {
			if !slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return r.Contains(need.addr) }) {
				wrong = append(wrong, fmt.Sprintf("%v lacks the %s, such as %s", list, need.what, need.addr))
			}
		}
	}

	return wrong
}

// collect finds the lists of exceptions in a CNI configuration: of HNS v1 and of v2
// (https://github.com/containernetworking/plugins/blob/v1.8.0/pkg/hns/netconf_windows.go).
func collect(value any, lists *[][]string) {
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			collect(each, lists)
		}

	case map[string]any:
		for _, key := range keys(v) {
			list, ok := v[key].([]any)
			if !ok || (key != "ExceptionList" && key != "Exceptions" && key != "exceptionList") {
				collect(v[key], lists)
				continue
			}
			var out []string
			for _, each := range list {
				out = append(out, fmt.Sprint(each))
			}

			*lists = append(*lists, out)
		}
	}
}

type inner struct {
	what string
	addr netip.Addr
}

// inside returns one address of each of the cluster's subnets for which there must be no NAT.
func (v *view) inside() []inner {
	var out []inner
	for i := range v.Services {
		s := &v.Services[i]
		if s.Namespace == "default" && s.Name == "kubernetes" {
			if a, err := netip.ParseAddr(s.Spec.ClusterIP); err == nil && a.Is4() {
				out = append(out, inner{"Services' subnet", a})
			}
		}
	}

	for i := range v.Nodes {
		if r, err := netip.ParsePrefix(v.Nodes[i].Spec.PodCIDR); err == nil && r.Addr().Is4() {
			return append(out, inner{"pods' subnet", r.Addr()})
		}
	}

	return out
}

// ping is a call of ping.exe, of which the whole line is looked at.
var (
	ping     = lazyregexp.New(`(?i)(^|[\s"'&|;(\\/])ping(\.exe)?\s+[^&|;\n]*`)
	pingSelf = lazyregexp.New(`(?i)\b127\.0\.0\.1\b|\blocalhost\b|::1|%COMPUTERNAME%`)
)

func pings(v *view) []Finding {
	var h hits
	for _, p := range v.pods {
		if ready(p) {
			continue
		}

		for _, line := range commands(p) {
			for _, call := range ping.FindAllString(line, -1) {
				if !pingSelf.MatchString(call) {
					h.add(podowner.Of(p), fmt.Sprintf("pod %s/%s runs: %s", p.Namespace, p.Name, shorten(line)))
				}
			}
		}
	}

	return h.findings()
}

// commands returns the command lines of a pod: of its containers, their probes and hooks.
func commands(p *corev1.Pod) []string {
	var out []string
	for _, c := range containers(p) {
		out = append(out, strings.Join(slices.Concat(c.Command, c.Args), " "))
		for _, probe := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
			if probe != nil && probe.Exec != nil {
				out = append(out, strings.Join(probe.Exec.Command, " "))
			}
		}

		if c.Lifecycle == nil {
			continue
		}
		for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil && hook.Exec != nil {
				out = append(out, strings.Join(hook.Exec.Command, " "))
			}
		}
	}

	return out
}

// texts returns what a pod is told: its command lines and its variables.
func texts(p *corev1.Pod) []string {
	out := commands(p)
	for _, c := range containers(p) {
		for _, e := range c.Env {
			if e.Value != "" {
				out = append(out, e.Name+"="+e.Value)
			}
		}
	}
	return out
}

func hostNodePort(v *view) []Finding {
	var h hits
	for _, p := range v.pods {
		n := v.node(p.Spec.NodeName)
		if n == nil || !hostProcess(p) {
			continue
		}
		own := []string{"localhost", "127.0.0.1", n.Name}
		for _, a := range n.Status.Addresses {
			own = append(own, a.Address)
		}

		for i := range v.Services {
			for _, port := range v.Services[i].Spec.Ports {
				if port.NodePort == 0 {
					continue
				}
				for _, address := range own {
					h.whoNames(p, fmt.Sprintf("%s:%d", address, port.NodePort),
						fmt.Sprintf("NodePort of service %s/%s", v.Services[i].Namespace, v.Services[i].Name))
				}
			}
		}
	}

	return h.findings()
}

func hostService(v *view) []Finding {
	var h hits
	for _, p := range v.pods {
		if !hostProcess(p) || ready(p) {
			continue
		}

		for i := range v.Services {
			s := &v.Services[i]
			if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone {
				continue
			}
			what := fmt.Sprintf("address of service %s/%s", s.Namespace, s.Name)
			h.whoNames(p, s.Spec.ClusterIP, what)
			h.whoNames(p, s.Name+"."+s.Namespace+".svc", what)
		}
	}

	return h.findings()
}

// whoNames adds a hit if a pod's commands or variables have an address in them.
func (h *hits) whoNames(p *corev1.Pod, address, what string) {
	for _, text := range texts(p) {
		if names(text, address) {
			h.add(podowner.Of(p), fmt.Sprintf("pod %s/%s on %s has %q, the %s", p.Namespace, p.Name, p.Spec.NodeName, address, what))
			return
		}
	}
}

// names reports whether a text has an address in it that is not part of a longer one.
func names(text, address string) bool {
	part := func(c byte) bool {
		return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'
	}

	for at := 0; ; {
		i := strings.Index(text[at:], address)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(address)
		before := from == 0 || (!part(text[from-1]) && text[from-1] != '.')
		if before && (to == len(text) || !part(text[to])) {
			return true
		}

		at = to
	}
}
