package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	fsapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const diskDriverName = "disk.e2e.mullion.dev"

// diskDriver serves volumes that are on disks of the node, as the drivers of clouds do. A volume's disk is named by its
// serial number. What it stages and publishes is as driver does it, but for the volume.
type diskDriver struct {
	driver
}

// diskNumber finds a disk by its serial number.
func diskNumber(ctx context.Context, serial string) (uint32, error) {
	c, err := disk.NewClient()
	if err != nil {
		return 0, status.Errorf(codes.Unavailable, "csi-proxy: %v", err)
	}
	defer c.Close()
	if _, err := c.Rescan(ctx, &diskapi.RescanRequest{}); err != nil {
		return 0, err
	}

	all, err := c.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}

	for number, ids := range all.GetDiskIDs() {
		if ids.GetSerialNumber() == serial && ids.GetPage83() != "" {
			_, err := c.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: number})
			return number, err
		}
	}

	return 0, status.Errorf(codes.NotFound, "there is no disk with the serial number %q", serial)
}

// NodeStageVolume makes a volume of the disk if there is none, and mounts it where the kubelet wants it.
func (d *diskDriver) NodeStageVolume(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse,
	error,
) {
	path := filepath.Clean(r.GetStagingTargetPath())
	fmt.Println("stage", r.GetVolumeId(), "at", path)
	number, err := diskNumber(ctx, r.GetVolumeContext()["serial"])
	if err != nil {
		return nil, err
	}

	c, err := volume.NewClient()
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "csi-proxy: %v", err)
	}
	defer c.Close()
	listed, err := c.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil || len(listed.GetVolumeIds()) != 1 {
		return nil, fmt.Errorf("volumes of disk %d: %v, %w", number, listed.GetVolumeIds(), err)
	}

	id := listed.GetVolumeIds()[0]
	is, err := c.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
	if err == nil && !is.GetFormatted() {
		_, err = c.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: id})
	}
	if err != nil {
		return nil, err
	}

	if staged(ctx, c, path) == id {
		return &csi.NodeStageVolumeResponse{}, nil // the kubelet asks again
	}

	err = files(func(f *filesystem.Client) error {
		if err := clearPath(ctx, f, path); err != nil {
			return err
		}
		_, err := f.Mkdir(ctx, &fsapi.MkdirRequest{Path: path})
		return err
	})
	if err == nil {
		_, err = c.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: path})
	}

	return &csi.NodeStageVolumeResponse{}, err
}

// staged returns the volume that a path leads to, or nothing.
func staged(ctx context.Context, c *volume.Client, path string) string {
	// Windows' own error for what is no mount point takes csi-proxy a minute to find.
	if err := files(func(f *filesystem.Client) error {
		is, err := f.IsSymlink(ctx, &fsapi.IsSymlinkRequest{Path: path})
		if err == nil && !is.GetIsSymlink() {
			err = os.ErrNotExist
		}
		return err
	}); err != nil {
		return ""
	}

	found, err := c.GetVolumeIDFromTargetPath(ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil {
		return ""
	}
	return found.GetVolumeId()
}

// NodeUnstageVolume takes the volume away from where it is mounted.
func (d *diskDriver) NodeUnstageVolume(ctx context.Context,
	r *csi.NodeUnstageVolumeRequest,
) (*csi.NodeUnstageVolumeResponse, error) {
	path := filepath.Clean(r.GetStagingTargetPath())
	fmt.Println("unstage", r.GetVolumeId(), "at", path)
	c, err := volume.NewClient()
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "csi-proxy: %v", err)
	}
	defer c.Close()

	found, err := c.GetVolumeIDFromTargetPath(ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if err == nil {
		_, err = c.UnmountVolume(ctx,
			&volumeapi.UnmountVolumeRequest{VolumeId: found.GetVolumeId(), TargetPath: path})
	}
	if err == nil {
		err = remove(ctx, path)
	}

	return &csi.NodeUnstageVolumeResponse{}, err
}
