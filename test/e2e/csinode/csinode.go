// Package csinode is what the CSI node drivers of the end-to-end tests share: their sockets, their identity and their
// registration with the kubelet, which kubernetes-csi/node-driver-registrar does for others. Both sockets are Unix
// sockets on the node's C:.
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

// kubelet is the kubelet's folder; https://kubernetes-csi.github.io/docs/deploying.html describes those below it.
const kubelet = `C:\var\lib\kubelet`

// Driver is a node driver, of a name and on a node.
type Driver struct {
	csi.UnimplementedIdentityServer
	registration.UnimplementedRegistrationServer

	Name, Node string
	// Registry is the folder of the socket for the registration, below the kubelet's plugins_registry; "": that one.
	// Containers that are no HostProcess containers cannot write to it, but to one that they have mounted.
	Registry string
}

// endpoint is the driver's own socket.
func (d *Driver) endpoint() string { return filepath.Join(kubelet, "plugins", d.Name, "csi.sock") }

// Serve serves the driver with its volumes, and its registration, until one of them ends.
func (d *Driver) Serve(volumes csi.NodeServer) error {
	driver, registrar := grpc.NewServer(), grpc.NewServer()
	csi.RegisterIdentityServer(driver, d)
	csi.RegisterNodeServer(driver, volumes)
	registration.RegisterRegistrationServer(registrar, d)
	var both errgroup.Group
	// The driver's own socket comes first: the kubelet calls it as soon as it has seen the other one.
	for _, s := range []struct {
		server *grpc.Server
		socket string
	}{{driver, d.endpoint()}, {registrar, filepath.Join(kubelet, "plugins_registry", d.Registry, d.Name+"-reg.sock")}} {
		listener, err := listen(s.socket)
		if err != nil {
			return err
		}
		fmt.Println("listening on", s.socket)
		both.Go(func() error { return s.server.Serve(listener) })
	}
	return both.Wait()
}

// listen replaces the socket that an earlier run left.
func listen(socket string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
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

// GetPluginInfo is the driver's name.
func (d *Driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.Name, VendorVersion: "v1"}, nil
}

// GetPluginCapabilities are none: there is no controller.
func (d *Driver) GetPluginCapabilities(context.Context,
	*csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

// Probe says that the driver is there.
func (d *Driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}
