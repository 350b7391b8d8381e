package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
)

// DockerPrograms is the folder of dockerd.exe beside Mullion's programs.
const DockerPrograms = "docker-windows"

// docker is what the machine has of the engine on its host: a socket that leads to the API, and the ports that
// containers publish.
func (c *composer) docker() error {
	host := c.Hosts[0] // the only one (spec.NewDocker)
	engine := component.OfNode("dockerd", host.Name)
	netns := c.underlay.HostNetns(host.Name)
	dial := func(ctx context.Context) (net.Conn, error) {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), winnode.DockerPort)
		return proc.DialIn(netns)(ctx, "tcp", at.String())
	}

	publish, err := netip.ParseAddr(c.Spec.Docker.Publish)
	if err != nil {
		return fmt.Errorf("publish containers' ports: %w", err)
	}

	c.add(&parts.DockerPorts{
		Node: host.Name,
		Host: host.Address,
		At:   publish,
		Dial: dial,
		Log:  c.log,
	}, engine)

	c.add(&parts.Forwarder{
		Unit: component.OfNode("socket", host.Name),
		Listen: func(ctx context.Context) (net.Listener, error) {
			return listenDocker(ctx, c.Paths.Docker(), *c.Spec.Docker)
		},
		Dial: dial,
		Log:  c.log,
	}, engine, component.OfNode("ports", host.Name))

	return nil
}

// listenDocker listens on the socket of Docker's API. Its owner and its group are those that the specification names;
// nobody else may use it, since whoever does is as good as root.
func listenDocker(ctx context.Context, path string, d spec.Docker) (net.Listener, error) {
	group := 0
	if d.Group != "" {
		var err error
		if group, err = GroupID(d.Group); err != nil {
			return nil, err
		}
	}

	l, err := unixsocket.Listen(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chown(path, d.Owner, group), os.Chmod(path, 0o660)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// GroupID returns the number of a group of the machine.
func GroupID(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("find the group %q of this machine: %w", name, err)
	}
	return strconv.Atoi(g.Gid)
}

// DockerProgram is dockerd.exe as a file of the machine.
func DockerProgram(bin string) string { return filepath.Join(bin, DockerPrograms, "dockerd.exe") }
