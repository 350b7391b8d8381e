package cluster

import (
	"log/slog"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
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
	u, err := newUnderlay(p)
	if err != nil {
		return nil, err
	}

	c := &composer{
		Plan:     p,
		log:      log,
		underlay: u,
	}

	const (
		always   = 1 << iota
		original // the machine that has the control plane
		joined   // a machine that joined another's cluster
		nodes    // a machine with nodes
		docker   // Docker's engine, without a cluster
	)

	where := always | nodes | original
	switch {
	case p.Spec.Join != nil:
		where = always | nodes | joined
	case p.Spec.Docker != nil:
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
		{always, c.hosts},          // Wine; each Windows host: namespaces, HNS and CRI server, kubelet.exe or dockerd.exe
		{docker, c.docker},         // the socket of Docker's engine, and the ports that containers publish
		{nodes, c.linuxHosts},      // each Linux host: namespaces, containerd, kubelet
		{original, c.endpoint},     // the address of the control planes that kubeadm makes on bare Linux hosts
		{nodes, c.policies},        // NetworkPolicies on the machine's nodes
		{nodes, c.volumeLimits},    // what emptyDirs on the machine's Windows nodes may take
	} {
		if where&step.where == 0 {
			continue
		}
		if err := step.add(); err != nil {
			return nil, err
		}
	}

	return c.units, nil
}

func (c *composer) add(part component.Component, after ...component.ID) {
	c.units = append(c.units, component.Unit{Component: part, After: after})
}
