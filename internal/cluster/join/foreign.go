package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/spec"
)

// ErrLinuxForeign says that Linux nodes do not join a cluster that Mullion did not make.
var ErrLinuxForeign = errors.New("this machine can add only Windows nodes to a cluster that Mullion did not make")

// ErrNoNetwork says that the machine has no network that nodes could have addresses on.
var ErrNoNetwork = errors.New("this machine is on no network on which its nodes could have addresses")

// runForeign joins a cluster that Mullion did not make; why says by what it was recognized.
func (j *joining) runForeign(ctx context.Context, why error) (spec.Cluster, error) {
	known, err := kubeadm.Read(ctx, j.client)
	if errors.Is(err, kubeadm.ErrNone) {
		return spec.Cluster{}, fmt.Errorf("%w; %w", why, err)
	}
	if err != nil {
		return spec.Cluster{}, err
	}

	if err := j.checkVersion(ctx); err != nil {
		return spec.Cluster{}, err
	}
	j.Said(fmt.Sprintf("it is cluster %q of kubeadm's: pods %s, services %s", known.Name, known.Pods, known.Services))
	c, err := j.foreignSpec(known)
	if err != nil {
		return c, err
	}

	c.Wine = j.Wine
	if err := j.freeInCluster(ctx, c); err != nil {
		return c, err
	}

	for _, a := range j.NodeAddresses {
		if j.machine.Taken(ctx, c.Join.Foreign.Link, a) {
			return c, &cluster.ConflictError{
				Err:    fmt.Errorf("give a node the address %s: somebody on %q has it", a, c.Join.Foreign.Link),
				Remedy: "choose another --node-address",
			}
		}
	}

	if err := j.prepare(); err != nil {
		return c, err
	}

	granting, cancel := context.WithCancel(ctx)
	granted := make(chan error, 1)
	go func(c spec.Cluster) { granted <- j.grant(granting, c) }(c)
	c, err = j.machine.Start(ctx, cluster.UpOptions{
		Spec:       c,
		Paths:      j.Paths,
		Executable: j.Executable,
		Environ:    j.Environ,
		Progress:   j.Progress,
	})
	if err != nil {
		cancel()
		return c, errors.Join(err, ignoreCancelled(<-granted))
	}

	defer cancel()
	return c, <-granted
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// foreignSpec returns the specification of this machine's part of the cluster.
func (j *joining) foreignSpec(known kubeadm.Cluster) (spec.Cluster, error) {
	c := spec.Cluster{
		APIVersion: spec.APIVersion,
		Kind:       spec.Kind,
		Name:       known.Name,
		Nodes:      j.foreignNodes(),
	}

	for _, n := range c.Nodes {
		if n.Linux() {
			return c, ErrLinuxForeign
		}
	}

	link, network, err := networkOf(j.Address)
	if err != nil {
		return c, err
	}

	f := &spec.Foreign{
		Link:               link.Name,
		MTU:                link.MTU,
		Domain:             known.Domain,
		ServerTLSBootstrap: known.ServerTLSBootstrap,
		Granted:            j.admin,
	}

	if known.DNS.IsValid() {
		f.DNS = known.DNS.String()
	}
	for _, a := range j.NodeAddresses {
		f.Addresses = append(f.Addresses, a.String())
	}

	c.Join = &spec.Join{
		Server:  j.found.Server,
		Address: j.Address.String(),
		Foreign: f,
	}

	c.Networking = spec.Networking{
		UnderlaySubnet:    network.String(),
		PodSubnet:         known.Pods.String(),
		ServiceSubnet:     known.Services.String(),
		KubeProxyMode:     j.KubeProxyMode,
		DisableDefaultCNI: j.DisableDefaultCNI,
	}

	if len(c.WithDefaults().Nodes) != len(f.Addresses) {
		return c, fmt.Errorf("join cluster %q: %w: it takes --node-address once for each node, a free address of %s",
			c.Name, ErrNodeAddresses, network)
	}
	if err := c.Validate(); err != nil {
		return c, &cluster.ConflictError{Err: err, Remedy: "choose other --node-address, --name or --advertise-address"}
	}
	return c.WithDefaults(), nil
}

// foreignNodes returns the nodes. Nodes without a name get one made from the machine's, since other machines' nodes are
// in the same cluster.
func (j *joining) foreignNodes() []spec.Node {
	host, _ := os.Hostname()
	var nodes []spec.Node
	for _, n := range j.Nodes {
		if n.Name == "" {
			n.Name = nameAfter(host)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// nameAfter makes a name for the nodes of a machine from its host name; it leaves room for a number.
func nameAfter(host string) string {
	const suffix, longest = "-win", 15 - len("-win-99") // a Windows computer name has 15 characters
	host = regexp.MustCompile(`[^a-z0-9-]+`).ReplaceAllString(strings.ToLower(strings.SplitN(host, ".", 2)[0]), "-")
	host = strings.Trim(host[:min(len(host), longest)], "-")
	if host == "" {
		host = "mullion"
	}
	return host + suffix
}

// networkOf returns the machine's interface with that address, and the network that is reached over it.
func networkOf(address netip.Addr) (net.Interface, netip.Prefix, error) {
	links, err := net.Interfaces()
	if err != nil {
		return net.Interface{}, netip.Prefix{}, err
	}

	for _, link := range links {
		addrs, err := link.Addrs()
		if err != nil {
			continue // it is gone
		}

		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err != nil || p.Addr() != address {
				continue
			}
			if p.Bits() > 30 || link.Flags&net.FlagBroadcast == 0 {
				return link, p, fmt.Errorf("%w: %s on %q is a network of its own", ErrNoNetwork, p, link.Name)
			}
			return link, p.Masked(), nil
		}
	}

	return net.Interface{}, netip.Prefix{}, fmt.Errorf("%w: no interface has the address %s", ErrNoNetwork, address)
}

// freeInCluster checks that the cluster has no nodes of these names and, if the client may see that, that its network
// is one that our nodes can be part of.
func (j *joining) freeInCluster(ctx context.Context, c spec.Cluster) error {
	if err := machines.FreeNames(ctx, j.client, c.NodeNames()); err != nil {
		return err
	}
	nodes, err := j.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil // a bootstrap token may not
	}

	if err != nil {
		return fmt.Errorf("list the cluster's nodes: %w", err)
	}
	for i := range nodes.Items {
		if err := kubeadm.CheckNetwork(&nodes.Items[i]); err != nil {
			return err
		}
	}

	return nil
}

// grant gives the nodes their rights as they register, where the client is an administrator's.
func (j *joining) grant(ctx context.Context, c spec.Cluster) error {
	if !j.admin {
		return nil
	}

	for _, name := range c.NodeNames() {
		for {
			err := kubeadm.Grant(ctx, j.client, name)
			if err == nil && c.Join.Foreign.ServerTLSBootstrap {
				if err := j.approveServing(ctx, name); err != nil {
					return err
				}
			}
			if err == nil {
				break
			}

			if !apierrors.IsNotFound(err) {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(askEvery):
			}
		}
	}

	return nil
}

// WaitingForRights returns the nodes that an administrator still has to give rights to, of a machine that joined.
func WaitingForRights(ctx context.Context, paths layout.Paths, c spec.Cluster) []string {
	if !c.Foreign() {
		return nil
	}

	clients := cluster.NodeClients(paths, c)
	var waiting []string
	for _, name := range c.NodeNames() {
		client, err := clients.Client(name)
		if err == nil {
			err = kubeadm.Allowed(ctx, client, name)
		}
		if _, lacks := errors.AsType[*kubeadm.RightsError](err); lacks {
			waiting = append(waiting, name)
		}
	}

	return waiting
}
