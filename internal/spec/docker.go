package spec

import (
	"net/netip"

	"mullion.dev/mullion/internal/windows/winver"
)

// Docker is what a machine has of Docker's engine on a Windows host of its own (`mullion docker up`).
type Docker struct {
	// Publish is the address of this machine at which the ports that containers publish answer.
	Publish string `json:"publish"`
	// Group is the group of this machine whose members may use the engine's socket; "": none.
	Group string `json:"group,omitempty"`
	// Owner is the user of this machine who may use it beside root, by number; 0: nobody else.
	Owner int `json:"owner,omitempty"`
}

// DockerHost is the name of the Windows host that Docker's engine runs on.
const DockerHost = "docker"

// NewDocker returns the specification of an engine of that name. Its host has no control plane, so of the network the
// underlay alone is used, of which subnet is a /24.
func NewDocker(name, windowsVersion string, subnet netip.Prefix, docker Docker) Cluster {
	if windowsVersion == "" {
		windowsVersion = winver.Default()
	}

	c := Cluster{
		APIVersion: APIVersion,
		Kind:       Kind,
		Name:       name,
		Networking: Networking{
			UnderlaySubnet:    subnet.String(),
			KubeProxyMode:     KubeProxyNone,
			DisableDefaultCNI: true,
		},
		Nodes: []Node{{
			Name:           DockerHost,
			OS:             Windows,
			WindowsVersion: windowsVersion,
			Bare:           true,
		}},
		Docker: &docker,
	}

	return c.withDefaults()
}
