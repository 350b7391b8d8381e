package winserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"mullion.dev/mullion/internal/machines/discovery"
	"mullion.dev/mullion/internal/machines/terms"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/winserver/api"
)

// cluster is what a join has found out.
type cluster struct {
	discovery.Cluster
	domain         string
	dns            netip.Addr
	pods, services netip.Prefix
	nodes          netip.Prefix   // not valid: that of the server's own address
	external       []netip.Prefix // of a cluster of Mullion's: where it expects nodes that it does not run
	selfSigned     bool           // nobody in the cluster signs serving certificates
	mullion        bool
	version        string // of the API server; empty: it may not be asked
}

// learn reads the cluster's networking, and looks whether the node's name is free.
func (c change) learn(ctx context.Context, client *api.Client, found discovery.Cluster, o Join) (cluster, error) {
	k := cluster{Cluster: found}
	var err error
	if k.version, err = c.serverVersion(ctx, client); err != nil {
		return k, err
	}

	published, err := client.ConfigMap(ctx, terms.MullionNamespace, terms.MullionConfig)
	switch {
	case err == nil:
		s, err := terms.Mullion(published[terms.MullionKey])
		if err != nil {
			return k, fmt.Errorf("read the cluster's networking: %w", err)
		}
		n := s.Networking
		if o.Network != NetworkNone && n.Mode != spec.ModeL2Bridge {
			return k, fmt.Errorf("%w: the cluster's mode is %s; use --network none, and a DaemonSet that makes it",
				ErrNetworkMode, n.Mode)
		}

		k.mullion = true
		k.domain = s.Domain()
		k.dns = s.DNS()
		k.pods = n.Pods()
		k.services = n.Services()
		k.nodes = n.Underlay()
		k.external = n.External()

	case errors.Is(err, api.ErrNotFound) || errors.Is(err, api.ErrForbidden):
		if k, err = kubeadmCluster(ctx, client, k); err != nil {
			return k, err
		}
	default:
		return k, err
	}

	c.say("the cluster's pods have %s, its Services %s", k.pods, k.services)
	if c.journal.Joined || len(c.journal.Entries) > 0 {
		return k, nil // the name is the node's own
	}

	switch _, err := client.Node(ctx, o.Node); {
	case err == nil:
		return k, fmt.Errorf("the cluster has a node %q: %w", o.Node, ErrConflict)
	case errors.Is(err, api.ErrForbidden):
		c.say("whether the name %q is free cannot be asked with this token", o.Node)
	case !errors.Is(err, api.ErrNotFound):
		return k, err
	}

	return k, nil
}

func kubeadmCluster(ctx context.Context, client *api.Client, k cluster) (cluster, error) {
	var texts [2]string
	for i, of := range []struct{ name, key string }{
		{terms.KubeadmConfig, terms.KubeadmKey}, {terms.KubeletConfig, terms.KubeletKey},
	} {
		data, err := client.ConfigMap(ctx, "kube-system", of.name)
		if errors.Is(err, api.ErrNotFound) || errors.Is(err, api.ErrForbidden) {
			return k, fmt.Errorf("%w: %w", ErrForeign, err)
		}
		if err != nil {
			return k, err
		}
		texts[i] = data[of.key]
	}

	t, err := terms.Kubeadm(texts[0], texts[1])
	if err != nil {
		return k, err
	}
	k.domain = t.Domain
	k.dns = t.DNS
	k.pods = t.Pods
	k.services = t.Services
	k.selfSigned = !t.ServerTLSBootstrap
	return k, nil
}
