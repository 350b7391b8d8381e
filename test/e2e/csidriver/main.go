// Command csidriver is a CSI node driver for the end-to-end tests, as small as one can be: a volume is a folder on the
// node, and publishing it makes a link. It runs as a HostProcess pod, as drivers on Windows do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"mullion.dev/mullion/test/e2e/csinode"
)

// driverName is the driver's name, which is that of its CSIDriver.
const driverName = "csi.e2e.mullion.dev"

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
	return (&csinode.Driver{Name: driverName, Node: node}).Serve(&driver{node: node, folder: folder})
}

type driver struct {
	csi.UnimplementedNodeServer

	node, folder string
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
