package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// node publishes the volumes that are folders of this node.
type node struct {
	csi.UnimplementedNodeServer

	shape hostPath
	// attached says that volumes have to be attached first.
	attached bool
	mu       *sync.Mutex // shared with the node's controller
}

func (n *node) store() store { return store{files: n.shape.disk, place: n.shape.address} }

// NodeGetInfo says which volumes the node can use.
func (n *node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	r := &csi.NodeGetInfoResponse{NodeId: n.shape.node}
	if n.shape.address != "" {
		r.AccessibleTopology = n.shape.topology()
	}
	return r, nil
}

// NodeStageVolume checks that the volume is here, and attached. There is nothing to prepare.
func (n *node) NodeStageVolume(_ context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	if err := required(map[string]bool{
		"volume ID": r.GetVolumeId() != "", "staging path": r.GetStagingTargetPath() != "",
		"volume capability": r.GetVolumeCapability() != nil,
	}); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()

	_, has, err := n.store().find(volumes, r.GetVolumeId())
	if err == nil && has.Node != n.shape.node {
		err = status.Errorf(codes.FailedPrecondition, "volume %q is not attached to %q", r.GetVolumeId(), n.shape.node)
	}
	fmt.Println("stage", r.GetVolumeId(), err)
	return &csi.NodeStageVolumeResponse{}, err
}

// NodeUnstageVolume has nothing to take back.
func (n *node) NodeUnstageVolume(_ context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse,
	error,
) {
	return &csi.NodeUnstageVolumeResponse{}, required(map[string]bool{
		"volume ID": r.GetVolumeId() != "", "staging path": r.GetStagingTargetPath() != "",
	})
}

// fresh makes a volume that no controller has made: one that belongs to a pod alone, or one whose PersistentVolume
// says so. What the pod asked for is written into it.
func (n *node) fresh(r *csi.NodePublishVolumeRequest) error {
	wants := r.GetVolumeContext()
	own := wants["csi.storage.k8s.io/ephemeral"] == "true"
	if !own && wants["make"] == "" {
		return nil
	}
	name, err := nameOf(r.GetVolumeId())
	if err != nil {
		return err
	}

	s := n.store()
	if _, _, err := s.find(volumes, name); status.Code(err) != codes.NotFound {
		return err
	}
	made := record{
		Size:    usual,
		Own:     own,
		Created: time.Now(),
	}
	if err := s.make(volumes, name, "", made); err != nil {
		return err
	}

	if text := wants["text"]; text != "" {
		return s.files.Write(volumes+"/"+name+"/text", []byte(text))
	}
	return nil
}

// NodePublishVolume has a pod see a volume.
func (n *node) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse,
	error,
) {
	if err := required(map[string]bool{
		"volume ID": r.GetVolumeId() != "", "target path": r.GetTargetPath() != "",
		"volume capability": r.GetVolumeCapability() != nil,
	}); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()

	target := filepath.Clean(r.GetTargetPath())
	fmt.Println("publish", r.GetVolumeId(), "at", target)
	if err := n.fresh(r); err != nil {
		return nil, err
	}
	name, has, err := n.store().find(volumes, r.GetVolumeId())
	if err != nil {
		return nil, err
	}

	mode := r.GetVolumeCapability().GetAccessMode().GetMode()
	alone := mode == csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	if alone && slices.ContainsFunc(has.Targets, func(t string) bool { return t != target }) {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %q is used at %q", r.GetVolumeId(), has.Targets)
	}

	// Before it is mounted, so that a volume that is mounted is never without a record of it.
	if !slices.Contains(has.Targets, target) {
		has.Targets = append(has.Targets, target)
		if err := n.store().write(volumes, name, has); err != nil {
			return nil, err
		}
	}
	err = publish(n.shape.disk.folder(volumes+"/"+name), target, r.GetReadonly())
	return &csi.NodePublishVolumeResponse{}, err
}

// NodeUnpublishVolume takes a volume away from a pod. One that belongs to the pod alone is removed.
func (n *node) NodeUnpublishVolume(_ context.Context,
	r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	if err := required(map[string]bool{
		"volume ID": r.GetVolumeId() != "", "target path": r.GetTargetPath() != "",
	}); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()

	target := filepath.Clean(r.GetTargetPath())
	fmt.Println("unpublish", r.GetVolumeId(), "at", target)
	if err := unpublish(target); err != nil {
		return nil, err
	}

	name, has, err := n.store().find(volumes, r.GetVolumeId())
	switch {
	case status.Code(err) == codes.NotFound:
		err = nil
	case err != nil:
	case has.Own:
		err = n.store().remove(volumes, name)
	default:
		has.Targets = slices.DeleteFunc(has.Targets, func(t string) bool { return t == target })
		err = n.store().write(volumes, name, has)
	}

	return &csi.NodeUnpublishVolumeResponse{}, err
}

// published finds a volume that is at a path.
func (n *node) published(id, path string) (string, record, error) {
	if err := required(map[string]bool{"volume ID": id != "", "volume path": path != ""}); err != nil {
		return "", record{}, err
	}
	name, has, err := n.store().find(volumes, id)
	if err != nil {
		return "", has, err
	}
	if _, err := os.Lstat(path); err != nil {
		return "", has, status.Errorf(codes.NotFound, "volume %q at %q: %v", id, path, err)
	}
	return name, has, nil
}

// NodeGetVolumeStats says how much of a volume is used. A volume is no larger than its node's disk, but it is not held
// to its size.
func (n *node) NodeGetVolumeStats(_ context.Context, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse,
	error,
) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, has, err := n.published(r.GetVolumeId(), r.GetVolumePath())
	if err != nil {
		return nil, err
	}
	bytes, files, err := n.shape.disk.usage(volumes + "/" + name)
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{
		{Unit: csi.VolumeUsage_BYTES, Total: has.Size, Used: bytes, Available: max(0, has.Size-bytes)},
		{Unit: csi.VolumeUsage_INODES, Used: files},
	}}, err
}

// NodeExpandVolume says how large the volume is since its controller made it larger.
func (n *node) NodeExpandVolume(_ context.Context, r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse,
	error,
) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, has, err := n.published(r.GetVolumeId(), r.GetVolumePath())
	fmt.Println("expand", r.GetVolumeId(), has.Size, err)
	return &csi.NodeExpandVolumeResponse{CapacityBytes: has.Size}, err
}
