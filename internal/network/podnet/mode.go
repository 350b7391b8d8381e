package podnet

import "mullion.dev/mullion/internal/spec"

// The VNI and UDP port of an overlay are flannel's on Windows, so that its nodes and ours could share an overlay:
// https://github.com/flannel-io/flannel/blob/v0.27.4/Documentation/backends.md#vxlan
const (
	VSID      = 4096
	VXLANPort = 4789
)

// NetworkName returns the name of the HNS network and of the CNI network; kube-proxy.exe gets it as --network-name.
func NetworkName(mode spec.Mode) string {
	switch mode {
	case spec.ModeOverlay:
		return "vxlan0"
	case spec.ModeNAT:
		return "nat"
	case spec.ModeTransparent:
		return "transparent"
	}
	return "cbr0"
}

// hasHostEndpoint reports whether the host itself is on the pods' network: it has the subnet's third address (.2),
// which win-bridge.exe makes the pods' gateway.
func hasHostEndpoint(mode spec.Mode) bool {
	return mode == spec.ModeL2Bridge || mode == spec.ModeL2Tunnel
}

// exceptions returns the networks that pods reach with their own address.
func (c *Config) exceptions() []string {
	all := []string{}
	for _, p := range c.Local {
		all = append(all, p.String())
	}
	return all
}
