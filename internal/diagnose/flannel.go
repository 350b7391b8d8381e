package diagnose

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

const flannelTips = tips + "#flannel-troubleshooting"

func flannelProbes() []Probe {
	return []Probe{
		{
			ID:     "flannel-subnet-env",
			Title:  "flannel has not written its subnet on a node",
			Items:  []int{9},
			Source: Source{"My Windows Pods cannot launch because of missing /run/flannel/subnet.env", flannelTips},
			Looks:  "events of pods on Windows nodes",
			Needs:  []Need{Pods, Events},
			Cause:  "flanneld has not come up on the node, so the CNI plugin does not know the node's subnet",
			Remedies: []string{
				"see flanneld's pod on the node, and restart it: `kubectl get pods -A -o wide --field-selector spec.nodeName=NODE`",
				`or write C:\run\flannel\subnet.env by hand, with FLANNEL_NETWORK, FLANNEL_SUBNET (the node's spec.podCIDR), ` +
					"FLANNEL_MTU and FLANNEL_IPMASQ",
			},
			look: said(`(?i)flannel[/\\]+subnet\.env`, ""),
		},
		{
			ID:     "flannel-waits",
			Title:  "flannel waits for its network",
			Items:  []int{8},
			Source: Source{`Flanneld is stuck in "Waiting for the Network to be created"`, flannelTips},
			Looks:  "logs of flannel's and kube-proxy's pods on Windows nodes",
			Needs:  []Need{Logs},
			Cause: "flanneld did not make its HNS network, mostly because it did not find the node's own address in time, or " +
				"its variable NODE_NAME is not the node's name",
			Remedies: []string{
				"restart flanneld's pod on the node: `kubectl delete pod -n kube-flannel POD`",
				`by hand: ` + "`[Environment]::SetEnvironmentVariable(\"NODE_NAME\", \"NODE\")`, then `C:\\flannel\\flanneld.exe " +
					"--kubeconfig-file=c:\\k\\config --iface=ADDRESS --ip-masq=1 --kube-subnet-mgr=1`",
			},
			look: waits,
		},
		{
			ID:     "flannel-annotations",
			Title:  "what flannel says of a node does not fit the node or the others",
			Items:  []int{7},
			Source: Source{"With Flannel, my nodes are having issues after rejoining a cluster", flannelTips},
			Looks:  "annotations flannel.alpha.coreos.com/… of all nodes, pod subnets of nodes",
			Cause: "every node makes its ways to the others from these annotations: one with another backend, network number, " +
				"port or address is not reached; Windows wants VXLAN with VNI 4096 or more and UDP port 4789",
			Remedies: []string{
				"set Backend in flannel's net-conf.json to the same for all: `\"VNI\": 4096, \"Port\": 4789` for vxlan, " +
					"then restart flannel's pods on every node",
				"a node that was deleted and joined again: `Remove-Item C:\\k\\SourceVip.json, C:\\k\\SourceVipRequest.json` on it",
			},
			look: annotations,
		},
		{
			ID:     "flannel-source-vip",
			Title:  "a node keeps a source address of an earlier pod subnet",
			Items:  []int{7},
			Source: Source{"With Flannel, my nodes are having issues after rejoining a cluster", flannelTips},
			Looks:  `SourceVip.json and subnet.env on the node, the node's pod subnet`,
			Needs:  []Need{Facts},
			Cause:  "the node was deleted and joined again and has got another pod subnet; the files are of the one before",
			Remedies: []string{
				"on the node: `Remove-Item C:\\k\\SourceVip.json, C:\\k\\SourceVipRequest.json`, then restart flanneld and kube-proxy",
			},
			look: sourceVIP,
		},
	}
}

// waiting is what start.ps1 of https://github.com/microsoft/SDN and the start scripts of SIG Windows' images print while
// the network is not there.
var waiting = lazyregexp.New(`(?i)waiting for the network to be created|waiting for hns network|` +
	`waiting for network .* to be created`)

// waits finds network pods whose last line is that they wait.
func waits(v *view) []Finding {
	var h hits
	for _, l := range v.Logs {
		lines := strings.Split(strings.TrimSpace(l.Text), "\n")
		if last := lines[len(lines)-1]; waiting.MatchString(last) {
			h.add("node "+l.Node, fmt.Sprintf("the last line of pod %s, container %s: %s", l.Pod, l.Container, shorten(last)))
		}
	}
	return h.findings()
}

// Annotations of flannel's nodes (https://github.com/flannel-io/flannel/blob/v0.28.0/pkg/subnet/kube/annotations.go).
const (
	flannelPrefix   = "flannel.alpha.coreos.com/"
	backendType     = flannelPrefix + "backend-type"
	backendData     = flannelPrefix + "backend-data"
	publicIP        = flannelPrefix + "public-ip"
	publicOverwrite = flannelPrefix + "public-ip-overwrite"
)

// The least network number of VXLAN that Windows takes
// (https://github.com/flannel-io/flannel/blob/v0.28.0/Documentation/backends.md#vxlan).
const firstVNI = 4096

func annotations(v *view) []Finding {
	var h hits
	usual, has := v.usualBackend()
	if !has {
		return nil
	}

	for i := range v.Nodes {
		n := &v.Nodes[i]
		on := n.Annotations
		if !v.Looked(n.Name) {
			continue
		}

		object := "node " + n.Name
		if on[backendType] == "" {
			if c := readiness(n); c != nil && c.Status == corev1.ConditionTrue {
				h.add(object, "other nodes have flannel's annotations, this one has none: flanneld has not run on it")
			}
			continue
		}

		if on[backendType] != usual {
			h.add(object, fmt.Sprintf("its backend is %s, that of the other nodes %s", on[backendType], usual))
		}
		if n.Spec.PodCIDR == "" {
			h.add(object, "it has flannel's annotations, but no spec.podCIDR")
		}
		if ip := on[publicIP]; ip != "" && on[publicOverwrite] == "" && !addressed(n, ip) {
			h.add(object, fmt.Sprintf("flannel takes %s for its address, which is none of its addresses", ip))
		}

		v.vxlan(&h, n)
	}

	return h.findings()
}

// usualBackend returns the backend that most nodes have.
func (v *view) usualBackend() (string, bool) {
	count := map[string]int{}
	for i := range v.Nodes {
		if b := v.Nodes[i].Annotations[backendType]; b != "" {
			count[b]++
		}
	}
	best := ""
	for _, b := range keys(count) {
		if best == "" || count[b] > count[best] {
			best = b
		}
	}
	return best, best != ""
}

func addressed(n *corev1.Node, ip string) bool {
	return slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Address == ip })
}

// vxlan looks at a node's part of a VXLAN.
func (v *view) vxlan(h *hits, n *corev1.Node) {
	text := n.Annotations[backendData]
	if n.Annotations[backendType] != "vxlan" || text == "" || text == "null" {
		return
	}
	object := "node " + n.Name
	var data struct {
		VNI     int    `json:"VNI"`
		VtepMAC string `json:"VtepMAC"`
	}

	if err := json.Unmarshal([]byte(text), &data); err != nil {
		h.add(object, fmt.Sprintf("its annotation %s is not JSON: %s", backendData, shorten(text)))
		return
	}
	if data.VNI != 0 && data.VNI < firstVNI {
		h.add(object, fmt.Sprintf("its VXLAN has the number %d, and Windows takes %d and more", data.VNI, firstVNI))
	}

	for i := range v.Nodes {
		o := &v.Nodes[i]
		var other struct {
			VNI     int    `json:"VNI"`
			VtepMAC string `json:"VtepMAC"`
		}
		if o.Name == n.Name || json.Unmarshal([]byte(o.Annotations[backendData]), &other) != nil {
			continue
		}

		if other.VNI != data.VNI && other.VNI != 0 && data.VNI != 0 {
			h.add(object, fmt.Sprintf("its VXLAN has the number %d, that of node %s %d", data.VNI, o.Name, other.VNI))
		}
		if data.VtepMAC != "" && strings.EqualFold(other.VtepMAC, data.VtepMAC) {
			h.add(object, fmt.Sprintf("it and node %s have the same MAC address in the VXLAN, %s", o.Name, data.VtepMAC))
		}
	}
}

var (
	vipAddress   = lazyregexp.New(`"?(?:ip4|address|ip)"?\s*[:=]\s*\{?\s*"?(?:ip"?\s*:\s*")?(\d+\.\d+\.\d+\.\d+)`)
	flannelsPart = lazyregexp.New(`(?m)^FLANNEL_SUBNET=(\S+)`)
)

func sourceVIP(v *view) []Finding {
	var h hits
	for _, n := range v.windows {
		own, err := netip.ParsePrefix(n.Spec.PodCIDR)
		if err != nil {
			continue
		}

		for _, path := range keys(v.Facts[n.Name].Files) {
			text, lower := v.Facts[n.Name].Files[path], strings.ToLower(path)
			var m []string
			switch {
			case strings.HasSuffix(lower, "sourcevip.json"):
				m = vipAddress.FindStringSubmatch(text)
			case strings.HasSuffix(lower, "subnet.env"):
				m = flannelsPart.FindStringSubmatch(text)
			}
			if m == nil {
				continue
			}

			address, _, _ := strings.Cut(m[1], "/")
			if a, err := netip.ParseAddr(address); err == nil && !own.Contains(a) {
				h.add("node "+n.Name, fmt.Sprintf("%s has %s, and the node's pod subnet is %s", path, m[1], own))
			}
		}
	}

	return h.findings()
}
