// Command csidriver is a CSI node driver for the end-to-end tests, as small as one can be: a volume is a folder on the
// node, and publishing it makes a link. It runs as a HostProcess pod, as drivers on Windows do, and registers itself
// with the kubelet as kubernetes-csi/node-driver-registrar does for others. Both of its sockets are Unix sockets on the
// node's C:.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const (
	driverName = "csi.e2e.mullion.dev"
	// kubelet is the kubelet's folder; https://kubernetes-csi.github.io/docs/deploying.html describes those below it.
	kubelet = `C:\var\lib\kubelet`
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: csidriver NODE FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(node, folder string) error {
	endpoint := filepath.Join(kubelet, "plugins", driverName, "csi.sock")
	d := &driver{node: node, folder: folder, endpoint: endpoint}
	volumes, registrar := grpc.NewServer(), grpc.NewServer()
	csi.RegisterIdentityServer(volumes, d)
	csi.RegisterNodeServer(volumes, d)
	registration.RegisterRegistrationServer(registrar, d)
	var both errgroup.Group
	// The driver's own socket comes first: the kubelet calls it as soon as it has seen the other one.
	for _, s := range []struct {
		server *grpc.Server
		socket string
	}{{volumes, endpoint}, {registrar, filepath.Join(kubelet, "plugins_registry", driverName+"-reg.sock")}} {
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

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	registration.UnimplementedRegistrationServer

	node, folder, endpoint string
}

func (d *driver) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type:              registration.CSIPlugin,
		Name:              driverName,
		Endpoint:          d.endpoint,
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (d *driver) NotifyRegistrationStatus(_ context.Context,
	s *registration.RegistrationStatus,
) (*registration.RegistrationStatusResponse, error) {
	fmt.Println("registered:", s.GetPluginRegistered(), s.GetError())
	return &registration.RegistrationStatusResponse{}, nil
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driverName, VendorVersion: "v1"}, nil
}

func (d *driver) GetPluginCapabilities(context.Context,
	*csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (d *driver) NodeGetCapabilities(context.Context,
	*csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.node}, nil
}

// NodePublishVolume makes the volume's folder, writes into it what the pod asked for, and a link to it where the
// kubelet wants the volume.
func (d *driver) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse,
	error,
) {
	fmt.Println("publish", r.GetVolumeId(), "at", r.GetTargetPath())
	source, err := d.source(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(source, 0o777); err != nil {
		return nil, err
	}
	if text := r.GetVolumeContext()["text"]; text != "" {
		if err := os.WriteFile(filepath.Join(source, "text"), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(r.GetTargetPath()), 0o750); err != nil {
		return nil, err
	}
	if err := os.Symlink(source, r.GetTargetPath()); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume removes the link. It also removes a volume that belongs to one pod alone, whose name the kubelet
// made up.
func (d *driver) NodeUnpublishVolume(_ context.Context,
	r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	fmt.Println("unpublish", r.GetVolumeId(), "at", r.GetTargetPath())
	if err := os.Remove(r.GetTargetPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	source, err := d.source(r.GetVolumeId())
	if err == nil && strings.HasPrefix(r.GetVolumeId(), "csi-") {
		err = os.RemoveAll(source)
	}
	return &csi.NodeUnpublishVolumeResponse{}, err
}

func (d *driver) source(volume string) (string, error) {
	if volume != filepath.Base(volume) || !filepath.IsLocal(volume) {
		return "", status.Errorf(codes.InvalidArgument, "volume %q: not a name", volume)
	}
	return filepath.Join(d.folder, volume), nil
}
