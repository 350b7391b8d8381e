package spec

import (
	"cmp"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/windows/winver"
)

// Runtime is the container runtime of a Windows node: empty for Mullion's own, or RuntimeContainerd.
type Runtime string

// RuntimeContainerd is upstream's containerd.exe with its shim, on the host's Host Compute Service.
const RuntimeContainerd Runtime = "containerd"

// OwnContainerd reports whether it is a Windows node with a containerd.exe of its own.
func (n Node) OwnContainerd() bool { return n.Runtime == RuntimeContainerd }

// runtime checks the container runtime of a node.
func (v *validator) runtime(i int, n Node) {
	at := []any{"nodes", i, "runtime"}
	switch {
	case n.Runtime == "":
		return
	case n.Runtime != RuntimeContainerd:
		v.fail(at, "%q is not %q; leave it out for Mullion's own", n.Runtime, RuntimeContainerd)
	case n.OS == Linux:
		v.fail(at, "is for a Windows node; a Linux node has containerd anyway")
	case n.Bare:
		v.fail(at, "is for a node with a kubelet, and a bare host has none; leave it out, and install containerd.exe yourself")
	}

	build, err := winver.Lookup(cmp.Or(n.WindowsVersion, winver.Default()))
	if err == nil && !build.Supports(winver.HNSv2) {
		v.fail(at, "containerd.exe connects pods by version 2 of HNS, which %s does not have; "+
			"leave it out, or take ltsc2019 or a later version", build.Name)
	}
}

// runtimes checks that the cluster's network is one to which containerd.exe connects pods: a CNI plugin does that.
func (v *validator) runtimes(c Cluster) {
	n := c.Networking
	for i, node := range c.Nodes {
		at := []any{"nodes", i, "runtime"}
		switch {
		case !node.OwnContainerd():
			continue
		case !n.Mode.Services():
			v.fail(at, "containerd.exe connects pods by a CNI plugin, and there is none for mode %s; "+
				"leave it out, or use mode %s or %s", n.Mode, ModeL2Bridge, ModeOverlay)
		case n.DualStack() && node.DualStack():
			v.fail(at, "containerd.exe connects pods by a CNI plugin, and win-bridge.exe gives a pod one address; "+
				"leave it out, or use IPv4 alone")
		case version.MinorOf(cmp.Or(node.KubernetesVersion, c.KubernetesVersion)) < version.LinuxRuntime:
			v.fail(at, "a kubelet before Kubernetes 1.%d does not run with containerd 2; leave it out", version.LinuxRuntime)
		}
	}
}
