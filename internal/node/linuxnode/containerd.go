package linuxnode

import (
	"cmp"
	"fmt"
	"strings"

	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/node/registries"
)

// uplinkMTU is the MTU of the node's interface on the underlay, a veth pair, unless the configuration names another.
const uplinkMTU = 1500

// pauseImage is the image of every pod's first container, which is made here and never pulled.
const pauseImage = "mullion.local/pause:v1"

// ContainerdTOML returns the configuration of the node's containerd 2.x (configuration version 3:
// https://github.com/containerd/containerd/blob/v2.4.2/docs/cri/config.md), or of the containerd 1.7 of an old bundle. On
// a machine without CAP_SYS_RESOURCE containerd does not get the oom_score it asks for, and runc would fail on a lower
// one for a pod; restrict_oom_score_adj keeps pods from asking for that.
func (c Config) ContainerdTOML() string {
	disabled := []string{
		"io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
		"io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.blockfile",
		"io.containerd.snapshotter.v1.erofs",
		"io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing", "io.containerd.nri.v1.nri",
	}
	for i, name := range disabled {
		disabled[i] = fmt.Sprintf("%q", name)
	}

	format, cri := 3, c.criTOML
	if c.oldRuntime() {
		format, cri = 2, c.oldCRI
	}
	return fmt.Sprintf(`version = %d
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = [%s]
oom_score = -999

[grpc]
  address = %q

[ttrpc]
  address = %q

%s`, format, strings.Join(disabled, ", "), containerdSocket, containerdSocket+".ttrpc", cri())
}

// criTOML is the part of containerd 2.x that is for CRI.
func (c Config) criTOML() string {
	return fmt.Sprintf(`[plugins.'io.containerd.shim.v1.manager']
  socket_dir = "/run/containerd/s"

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = %q

[plugins.'io.containerd.cri.v1.images'.registry]
  config_path = %q
%s
[plugins.'io.containerd.cri.v1.runtime']
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  base_runtime_spec = %q

[plugins.'io.containerd.cri.v1.runtime'.cni]
  conf_dir = %q
%s  use_internal_loopback = true
`, pauseImage, registriesDir, registries.AuthTOML(c.Registries, "io.containerd.cri.v1.images"), baseSpec, cniConfDir, c.cniTOML())
}

// oldCRI is the part of containerd 1.7 that is for CRI (configuration version 2:
// https://github.com/containerd/containerd/blob/v1.7.29/docs/cri/config.md). It has one folder of CNI plugins, with the
// plugin loopback in it.
func (c Config) oldCRI() string {
	cni := fmt.Sprintf("  bin_dir = %q\n", cniBinDir)
	if !c.noCNI() {
		cni = fmt.Sprintf("  bin_dir = %q\n  conf_template = %q\n", programsDir+"/cni", cniTemplate)
	}
	const plugin = "io.containerd.grpc.v1.cri"
	return fmt.Sprintf(`[plugins.'%[1]s']
  sandbox_image = %[2]q
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true

[plugins.'%[1]s'.registry]
  config_path = %[3]q
%[4]s
[plugins.'%[1]s'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  base_runtime_spec = %[5]q

[plugins.'%[1]s'.cni]
  conf_dir = %[6]q
%[7]s`, plugin, pauseImage, registriesDir, registries.AuthTOML(c.Registries, plugin), baseSpec, cniConfDir, cni)
}

// registriesDir is where the node's containerd looks for how it reaches registries.
const registriesDir = "/etc/containerd/certs.d"

// cniTOML says where the CNI plugins are and which template containerd makes their configuration from. With NoCNI there
// is no template: others write the configuration, and find the usual plugins, as on kind's nodes.
func (c Config) cniTOML() string {
	if c.noCNI() {
		return fmt.Sprintf("  bin_dirs = [%q, %q]\n", cniBinDir, programsDir+"/cni")
	}
	return fmt.Sprintf("  bin_dirs = [%q]\n  conf_template = %q\n", programsDir+"/cni", cniTemplate)
}

// CNITemplate returns the CNI configuration that containerd completes when the kubelet tells it the node's range of pod
// addresses. Pods are routed (ptp), not bridged, so what a pod sends to a Service, and the answer, always pass the
// host's rules. Addresses are kept in /run, since after a reboot no pod has one. The plugin does not masquerade:
// linuxhost.NAT gives the node's address to what leaves the cluster. The last plugin waits until the pod's network
// policies are carried out.
func (c Config) CNITemplate() string {
	routes := `{"dst": "0.0.0.0/0"}`
	if c.PodSubnet6.IsValid() {
		routes += `, {"dst": "::/0"}`
	}
	mtu := 0 // of the node's uplink
	if c.Overlay {
		mtu = dataplane.OverlayMTU(cmp.Or(c.UplinkMTU, uplinkMTU))
	}

	policies := ""
	if c.Policies {
		policies = fmt.Sprintf(",\n    {\"type\": \"mullion-policy\", \"socket\": %q}", policySocket)
	}
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "mullion",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "mtu": %d,
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni",
        "ranges": [{{range $i, $range := .PodCIDRRanges}}{{if $i}}, {{end}}[{"subnet": "{{$range}}"}]{{end}}],
        "routes": [%s]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}, "backend": "nftables"}%s
  ]
}
`, mtu, routes, policies)
}
