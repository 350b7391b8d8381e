package cluster

import (
	"log/slog"
	"slices"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/windows/winver"
)

// composer puts the units of one plan together.
type composer struct {
	Plan
	log      *slog.Logger
	underlay *underlay.Underlay
	control  controlplane.Config
	access   access
	units    []component.Unit
	// ownAddresses protects the machine's addresses, on the machine with the control plane.
	ownAddresses *parts.OwnAddresses
	// ofNodes are the units that know all of the machine's nodes: they begin anew when there are more.
	ofNodes []component.ID
}

// access is how the machine's nodes, and what the machine does for them, reach the API.
type access struct {
	// server is the API server's URL for nodes, caFile its authority, bootstrap a kubeconfig with a bootstrap token,
	// and proxy one for kube-proxy, "" for the kubelet's own.
	server, caFile, bootstrap, proxy string
	// firstCertificate makes a kubelet's first certificate; nil: it asks for that.
	firstCertificate func(node string) ([]byte, error)
	// kubeletAfter are the units that must be ready before a kubelet starts, machine those before
	// client can be used.
	kubeletAfter, machine []component.ID
	client                func() (kubeclient.Interface, error)
	// nodes makes clients with the rights of the nodes of a machine that joined.
	nodes kubenode.Clients
}

// Units returns the parts of a cluster, which write to log. Their After says in which order they start.
func Units(p Plan, log *slog.Logger) ([]component.Unit, error) {
	c, err := compose(p, log)
	if err != nil {
		return nil, err
	}
	return c.units, nil
}

// compose puts the parts of a cluster together.
func compose(p Plan, log *slog.Logger) (*composer, error) {
	u, err := newUnderlay(p)
	if err != nil {
		return nil, err
	}

	c := &composer{
		Plan:     p,
		log:      log,
		underlay: u,
	}
	return c, c.compose()
}

// grown puts the parts of the same cluster with more nodes together, on the network that there is. It returns those
// that are new, and those that begin anew. No part that there is is missing then.
func (c *composer) grown(p Plan) (g *composer, more []component.Unit, err error) {
	g = &composer{
		Plan:     p,
		log:      c.log,
		underlay: c.underlay,
	}
	if err := g.compose(); err != nil {
		return nil, nil, err
	}

	there := map[component.ID]bool{}
	for _, u := range c.units {
		there[u.ID()] = true
	}

	anew := slices.Clone(g.ofNodes)
	sameBuild := func(a, b winver.Build) bool { return a.Name == b.Name }
	if !slices.EqualFunc(c.control.Windows, g.control.Windows, sameBuild) {
		// It makes a RuntimeClass for each build, and protects the addresses of its own start again. Those of the
		// moment are protected after it.
		anew = append(anew, component.Sole(controlplane.Bootstrap), parts.OwnAddressesUnit())
	}
	if !slices.Equal(c.controlPlanes(), g.controlPlanes()) {
		anew = append(anew, parts.EndpointUnit())
	}

	for _, u := range g.units {
		if !there[u.ID()] || slices.Contains(anew, u.ID()) {
			more = append(more, u)
		}
	}
	return g, more, nil
}

// compose adds all units.
func (c *composer) compose() error {
	const (
		always   = 1 << iota
		original // the machine that has the control plane
		joined   // a machine that joined another's cluster
		nodes    // a machine with nodes
		docker   // Docker's engine, without a cluster
	)

	where := always | nodes | original
	switch {
	case c.Spec.Join != nil:
		where = always | nodes | joined
	case c.Spec.Docker != nil:
		where = always | docker
	}

	for _, step := range []struct {
		where int
		add   func() error
	}{
		{always, c.fabric},         // the network that everything stands on
		{original, c.controlPlane}, // etcd, API server, controller manager, scheduler, the objects a fresh API needs
		{joined, c.join},           // the way to another machine's API, and what the machine does for it
		{original, c.dns},          // CoreDNS
		{original, c.metrics},      // metrics-server
		{original, c.storage},      // volumes on the nodes' disks
		{original, c.gmsa},         // credential specs of group managed service accounts
		{nodes, c.routes},          // to other machines and to pods
		{always, c.engine},         // containerd
		{always, c.hosts},          // Wine; each Windows host: namespaces, HNS and CRI server, kubelet.exe, dockerd.exe
		{docker, c.docker},         // the socket of Docker's engine, and the ports that containers publish
		{nodes, c.linuxHosts},      // each Linux host: namespaces, containerd, kubelet
		{original, c.endpoint},     // the address of the control planes that kubeadm makes on bare Linux hosts
		{original, c.registry},     // the registry of images, and each node's way to it
		{nodes, c.policies},        // NetworkPolicies on the machine's nodes
		{nodes, c.volumeLimits},    // what emptyDirs on the machine's Windows nodes may take
	} {
		if where&step.where == 0 {
			continue
		}
		if err := step.add(); err != nil {
			return err
		}
	}

	return nil
}

func (c *composer) add(part component.Component, after ...component.ID) {
	c.units = append(c.units, component.Unit{Component: part, After: after})
}

// addOfNodes adds a unit that knows all of the machine's nodes, and can end and begin while the cluster is up.
func (c *composer) addOfNodes(part component.Component, after ...component.ID) {
	c.add(part, after...)
	c.ofNodes = append(c.ofNodes, part.ID())
}
