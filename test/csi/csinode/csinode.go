// Package csinode is what the CSI drivers of the end-to-end tests share: their sockets, their identity and their
// registration with the kubelet, which kubernetes-csi/node-driver-registrar does for others. Both sockets are Unix
// sockets on the node's disk, which is C: on Windows.
package csinode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Identity says who a driver is.
type Identity struct {
	csi.UnimplementedIdentityServer

	Name string
	// Controller says that the driver has a controller, whose volumes may grow while they are used.
	Controller bool
	// Topology says that not every node can use every volume.
	Topology bool
}

// Driver is a node driver.
type Driver struct {
	Identity
	registration.UnimplementedRegistrationServer

	// Registry is the folder of the socket for the registration, below the kubelet's plugins_registry; "": that one.
	// Containers that are no HostProcess containers cannot write to it, but to one that they have mounted.
	Registry string
}

// endpoint returns the driver's own socket (https://kubernetes-csi.github.io/docs/deploying.html).
func (d *Driver) endpoint() string { return filepath.Join(kubelet, "plugins", d.Name, "csi.sock") }

// Serve serves the driver with its volumes, and its registration, until one of them ends.
func (d *Driver) Serve(volumes csi.NodeServer) error {
	registrar := grpc.NewServer()
	registration.RegisterRegistrationServer(registrar, d)
	var both errgroup.Group

	// The driver's own socket comes first: the kubelet calls it as soon as it has seen the other one.
	for _, s := range []struct {
		server *grpc.Server
		socket string
	}{
		{Server(&d.Identity, nil, volumes), d.endpoint()},
		{registrar, filepath.Join(kubelet, "plugins_registry", d.Registry, d.Name+"-reg.sock")},
	} {
		listener, err := Listen(s.socket)
		if err != nil {
			return err
		}
		both.Go(func() error { return s.server.Serve(listener) })
	}

	return both.Wait()
}

// Server returns a server of CSI; the controller or the volumes may be nil.
func Server(identity *Identity, controller csi.ControllerServer, volumes csi.NodeServer) *grpc.Server {
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, identity)
	if controller != nil {
		csi.RegisterControllerServer(server, controller)
	}
	if volumes != nil {
		csi.RegisterNodeServer(server, volumes)
	}
	return server
}

// Listen listens on a Unix socket. It replaces one that an earlier run left.
func Listen(socket string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	if err == nil {
		fmt.Println("listening on", socket)
	}
	return listener, err
}

// GetInfo tells the kubelet where the driver is.
func (d *Driver) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type:              registration.CSIPlugin,
		Name:              d.Name,
		Endpoint:          d.endpoint(),
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus prints whether the kubelet has taken the driver.
func (d *Driver) NotifyRegistrationStatus(_ context.Context,
	s *registration.RegistrationStatus,
) (*registration.RegistrationStatusResponse, error) {
	fmt.Println("registered:", s.GetPluginRegistered(), s.GetError())
	return &registration.RegistrationStatusResponse{}, nil
}

// GetPluginInfo returns the driver's name.
func (i *Identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: i.Name, VendorVersion: "v1"}, nil
}

// GetPluginCapabilities says what the driver has beside its node part.
func (i *Identity) GetPluginCapabilities(context.Context,
	*csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	var all []*csi.PluginCapability
	service := func(t csi.PluginCapability_Service_Type) {
		all = append(all, &csi.PluginCapability{
			Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: t}},
		})
	}

	if i.Controller {
		service(csi.PluginCapability_Service_CONTROLLER_SERVICE)
		expand := &csi.PluginCapability_VolumeExpansion{Type: csi.PluginCapability_VolumeExpansion_ONLINE}
		all = append(all, &csi.PluginCapability{Type: &csi.PluginCapability_VolumeExpansion_{VolumeExpansion: expand}})
	}
	if i.Topology {
		service(csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS)
	}

	return &csi.GetPluginCapabilitiesResponse{Capabilities: all}, nil
}

// Probe says that the driver is there.
func (i *Identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}
