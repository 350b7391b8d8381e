// Command csidriver is a CSI driver for the end-to-end tests, for nodes of both systems. A volume is a folder of a
// node, as those of kubernetes-csi/csi-driver-host-path are, or a folder of a share of an SMB server, as those of
// kubernetes-csi/csi-driver-smb are. It is one of these, as its first argument says:
//
//	node            the node part of volumes that are folders of nodes; on Windows as a HostProcess pod. With -listen it
//	                is the controller of its node too, for
//	controller      the controller of all nodes
//	smb-controller  the controller of volumes that are folders of shares; their node part is the command csiproxy
//	all             controller and node part of one node, on one socket
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sync/errgroup"

	"mullion.dev/mullion/test/csi/csinode"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are those of the command line.
type options struct{ name, node, folder, address, listen, port, socket, token string }

func run(args []string) error {
	var o options
	flags := flag.NewFlagSet("csidriver", flag.ContinueOnError)
	flags.StringVar(&o.name, "name", "csi.e2e.mullion.dev", "the driver's name, which is that of its CSIDriver")
	flags.StringVar(&o.node, "node", "", "the node's name")
	flags.StringVar(&o.folder, "folder", "", "the folder of the volumes on the node")
	flags.StringVar(&o.address, "address", "", "the node's address")
	flags.StringVar(&o.listen, "listen", "", "where to serve by TCP")
	flags.StringVar(&o.port, "port", "", "the port where the nodes' controllers are")
	flags.StringVar(&o.socket, "socket", "/csi/csi.sock", "the socket of a controller")
	if len(args) == 0 {
		return errors.New("usage: csidriver node|controller|smb-controller|all FLAGS")
	}

	if err := flags.Parse(args[1:]); err != nil {
		return err
	}

	o.token = os.Getenv("TOKEN")
	switch args[0] {
	case "node":
		return o.serveNode()
	case "controller":
		return o.serveController(&router{
			driver: o.name, port: o.port, token: o.token, nodes: map[string]csi.ControllerClient{},
		}, nil)

	case "smb-controller":
		return o.serveController(&controller{shape: smb{}, mu: &sync.Mutex{}}, nil)
	case "all":
		control, volumes, err := o.hostPath()
		if err != nil {
			return err
		}
		return o.serveController(control, volumes)
	}

	return fmt.Errorf("no part %q of the driver", args[0])
}

// hostPath returns the driver of this node's volumes.
func (o options) hostPath() (*controller, *node, error) {
	disk, err := openDisk(o.folder)
	if err != nil {
		return nil, nil, err
	}

	shape := hostPath{
		disk:    disk,
		node:    o.node,
		address: o.address,
		system:  runtime.GOOS,
		driver:  o.name,
	}
	mu := &sync.Mutex{}
	return &controller{shape: shape, mu: mu}, &node{
		shape:    shape,
		attached: o.address != "",
		mu:       mu,
	}, nil
}

func (o options) serveNode() error {
	control, volumes, err := o.hostPath()
	if err != nil {
		return err
	}

	var all errgroup.Group
	if o.listen != "" {
		serve, err := listen(o.listen, o.token, control)
		if err != nil {
			return err
		}
		all.Go(serve)
	}

	driver := csinode.Driver{Identity: csinode.Identity{Name: o.name, Topology: o.address != ""}}
	all.Go(func() error { return driver.Serve(volumes) })
	return all.Wait()
}

func (o options) serveController(control csi.ControllerServer, volumes csi.NodeServer) error {
	_, local := control.(*router)
	identity := &csinode.Identity{
		Name:       o.name,
		Controller: true,
		Topology:   local || volumes != nil,
	}

	listener, err := csinode.Listen(o.socket)
	if err != nil {
		return err
	}

	var all errgroup.Group
	if o.listen != "" {
		serve, err := listen(o.listen, "", nil)
		if err != nil {
			return err
		}
		all.Go(serve)
	}
	all.Go(func() error { return csinode.Server(identity, control, volumes).Serve(listener) })
	return all.Wait()
}
