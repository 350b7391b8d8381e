package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	fsapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const driverName = "smb.e2e.mullion.dev"

// driver serves volumes that are shares. It touches no files itself: its own container has no mapped shares.
type driver struct {
	csi.UnimplementedNodeServer

	node string
}

func (d *driver) NodeGetCapabilities(context.Context,
	*csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	stage := &csi.NodeServiceCapability_Rpc{
		Rpc: &csi.NodeServiceCapability_RPC{Type: csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME},
	}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{{Type: stage}}}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.node}, nil
}

// files does something by csi-proxy's file system group.
func files(do func(c *filesystem.Client) error) error {
	c, err := filesystem.NewClient()
	if err != nil {
		return status.Errorf(codes.Unavailable, "csi-proxy: %v", err)
	}
	defer c.Close()
	return do(c)
}

// clearPath removes what is at a path, if anything is, and makes the folder that it is in.
func clearPath(ctx context.Context, c *filesystem.Client, path string) error {
	is, err := c.PathExists(ctx, &fsapi.PathExistsRequest{Path: path})
	if err != nil {
		return err
	}
	if is.GetExists() {
		if _, err := c.Rmdir(ctx, &fsapi.RmdirRequest{Path: path}); err != nil {
			return err
		}
	}
	_, err = c.Mkdir(ctx, &fsapi.MkdirRequest{Path: filepath.Dir(path)})
	return err
}

// NodeStageVolume maps the share, and makes a link to it where the kubelet wants the volume.
func (d *driver) NodeStageVolume(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse,
	error,
) {
	path := filepath.Clean(r.GetStagingTargetPath())
	fmt.Println("stage", r.GetVolumeId(), "at", path)
	if err := files(func(c *filesystem.Client) error { return clearPath(ctx, c, path) }); err != nil {
		return nil, err
	}
	c, err := smb.NewClient()
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "csi-proxy: %v", err)
	}

	defer c.Close()
	_, err = c.NewSmbGlobalMapping(ctx, &smbapi.NewSmbGlobalMappingRequest{
		RemotePath: r.GetVolumeContext()["source"],
		LocalPath:  path,
		Username:   r.GetSecrets()["username"],
		Password:   r.GetSecrets()["password"],
	})

	return &csi.NodeStageVolumeResponse{}, err
}

// NodePublishVolume makes a link to the staged volume for a pod.
func (d *driver) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest,
) (*csi.NodePublishVolumeResponse, error) {
	from, path := filepath.Clean(r.GetStagingTargetPath()), filepath.Clean(r.GetTargetPath())
	fmt.Println("publish", r.GetVolumeId(), "at", path)
	err := files(func(c *filesystem.Client) error {
		if is, err := c.IsSymlink(ctx, &fsapi.IsSymlinkRequest{Path: path}); err == nil && is.GetIsSymlink() {
			return nil // the kubelet asks again
		}
		if err := clearPath(ctx, c, path); err != nil {
			return err
		}
		_, err := c.CreateSymlink(ctx, &fsapi.CreateSymlinkRequest{SourcePath: from, TargetPath: path})
		return err
	})
	return &csi.NodePublishVolumeResponse{}, err
}

// remove removes a link.
func remove(ctx context.Context, path string) error {
	return files(func(c *filesystem.Client) error {
		is, err := c.PathExists(ctx, &fsapi.PathExistsRequest{Path: path})
		if err == nil && is.GetExists() {
			_, err = c.Rmdir(ctx, &fsapi.RmdirRequest{Path: path})
		}
		return err
	})
}

// NodeUnpublishVolume removes the pod's link.
func (d *driver) NodeUnpublishVolume(ctx context.Context,
	r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	fmt.Println("unpublish", r.GetVolumeId(), "at", r.GetTargetPath())
	return &csi.NodeUnpublishVolumeResponse{}, remove(ctx, filepath.Clean(r.GetTargetPath()))
}

// NodeUnstageVolume removes the link to the share. The share stays mapped: other volumes may be of it.
func (d *driver) NodeUnstageVolume(ctx context.Context,
	r *csi.NodeUnstageVolumeRequest,
) (*csi.NodeUnstageVolumeResponse, error) {
	fmt.Println("unstage", r.GetVolumeId(), "at", r.GetStagingTargetPath())
	return &csi.NodeUnstageVolumeResponse{}, remove(ctx, filepath.Clean(r.GetStagingTargetPath()))
}
