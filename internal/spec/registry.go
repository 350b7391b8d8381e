package spec

import (
	"net"
	"strconv"
)

// RegistryPort is the port of a cluster's registry where none is named, that of kind's examples: 5000 is taken on some
// systems.
const RegistryPort = 5001

// Registry is a registry of images beside the cluster. The machine and each of its nodes reach it at its port of their
// own loopback address, so that its images have the same name everywhere: localhost:5001/app:v1.
type Registry struct {
	// Port is a TCP port of the machine's loopback address, and of each node's; 5001 when left out.
	Port int `yaml:"port,omitempty" json:"port"`
}

// Host returns the registry as the names of its images have it.
func (r Registry) Host() string { return net.JoinHostPort("localhost", strconv.Itoa(r.Port)) }

// leastRegistryPort is the first port that no system keeps for programs of root.
const leastRegistryPort = 1024

// registry checks the registry of a description.
func (v *validator) registry(c Cluster) {
	r := c.Registry
	switch {
	case r == nil:
	case r.Port != 0 && (r.Port < leastRegistryPort || r.Port > 65535):
		v.fail([]any{"registry", "port"}, "%d is not a TCP port from %d to 65535", r.Port, leastRegistryPort)
	case c.SeveralMachines():
		v.fail([]any{"registry"}, "the nodes of other machines do not reach it: leave it out, or networking.advertiseAddress")
	}
}
