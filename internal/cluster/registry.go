package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/imageregistry"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
)

// registry is the cluster's registry of images, if it is to have one: upstream's program, the way to it from the
// machine's loopback address and from that of each node, and the note by which tools find it.
func (c *composer) registry() error {
	r := c.Spec.Registry
	if r == nil {
		return nil
	}

	server, err := imageregistry.New(imageregistry.Config{
		Place: c.addonPlace(imageregistry.Name),
		Dir:   c.Paths.Registry(),
		Host:  r.Host(),
	}, func(ctx context.Context) error {
		client, err := c.access.client()
		if err != nil {
			return err
		}
		return bootstrap.RegistryHost(ctx, client, r.Host())
	})
	if err != nil {
		return err
	}
	c.add(server, c.access.machine...)

	c.add(c.registryForwarder(component.Sole(registryForwarder), ""), server.ID())
	for _, node := range c.Spec.NodeNames() {
		forwarder := c.registryForwarder(component.OfNode(registryForwarder, node), c.underlay.HostNetns(node))
		c.add(forwarder, server.ID(), component.OfNode("network", node))
	}

	return nil
}

// registryForwarder is the part that leads to the registry, on the machine and on each node.
const registryForwarder = "registry-forwarder"

// registryForwarder leads from the registry's port of the loopback address in a network namespace, "" for the machine's
// own, to the registry.
func (c *composer) registryForwarder(id component.ID, netns string) component.Component {
	port := c.Spec.Registry.Port

	return &parts.Forwarder{
		Unit: id,
		Listen: func(context.Context) (net.Listener, error) {
			var l net.Listener
			err := proc.InNetns(netns, func() error {
				var err error
				l, err = listenRegistry(port)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("listen on port %d for the registry: %w", port, err)
			}
			return l, nil
		},
		Dial: imageregistry.Dial(c.underlay.FabricNetns()),
		Log:  c.log,
	}
}

// listenRegistry listens on the loopback address of IPv4 alone: clients that find localhost to be ::1 too are refused
// there, and go on to this one. The port is held there, lest another user of the machine gets what is pushed to
// localhost, and gives what is pulled.
func listenRegistry(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	held, err := holdIPv6(port)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return heldListener{Listener: l, held: held}, nil
}

// heldListener is a listener that holds its port of another address, too.
type heldListener struct {
	net.Listener

	held io.Closer
}

func (l heldListener) Close() error { return errors.Join(l.Listener.Close(), l.held.Close()) }

// holdIPv6 takes a TCP port of ::1, where nobody listens then. A machine without that address has nothing to take.
func holdIPv6(port int) (io.Closer, error) {
	s, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}

	held := os.NewFile(uintptr(s), "[::1]")
	err = unix.Bind(s, &unix.SockaddrInet6{Port: port, Addr: netip.IPv6Loopback().As16()})
	if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
		return nil, errors.Join(fmt.Errorf("bind port %d of ::1: %w", port, err), held.Close())
	}
	return held, nil
}

// checkRegistry returns a ConflictError if the machine, or what runs on a node, has the port of a cluster's registry.
func checkRegistry(c spec.Cluster) error {
	if c.Registry == nil {
		return nil
	}

	port := c.Registry.Port
	taken := func(err error) error {
		return &ConflictError{
			Err:    fmt.Errorf("listen on 127.0.0.1 port %d for the registry: %w", port, err),
			Remedy: "choose another port: --registry=5002, or registry.port in cluster.yaml",
		}
	}

	own := append(kubenode.OwnPorts(), winnode.HNSPort, winnode.CRIPort, winnode.DockerPort)
	if slices.Contains(own, port) {
		return taken(errors.New("a node's own programs have it"))
	}
	l, err := listenRegistry(port)
	if err != nil {
		return taken(err)
	}
	return l.Close()
}
