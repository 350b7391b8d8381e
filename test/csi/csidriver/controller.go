package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// usual is the size of a volume for which none is asked.
const usual = 1 << 30

// controller makes, grows, copies and removes the volumes of one shape.
type controller struct {
	csi.UnimplementedControllerServer

	shape shape
	mu    *sync.Mutex // one change at a time
}

// shape is where volumes are and how nodes get them.
type shape interface {
	// place is where a volume is made. from is the ID of what it is made of, or "".
	place(r *csi.CreateVolumeRequest, from string) (string, error)
	// open opens the store at a place.
	open(ctx context.Context, place string, secrets map[string]string) (store, func() error, error)
	// describe completes a volume.
	describe(v *csi.Volume)
	// attaches says to which node volumes are attached. They are not, and any node can use them, if it is "".
	attaches() string
}

// with does something with the store that an ID is in.
func (c *controller) with(ctx context.Context, id string, secrets map[string]string, do func(s store) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, end, err := c.shape.open(ctx, placeOf(id), secrets)
	if err != nil {
		return err
	}
	return errors.Join(do(s), end())
}

// required says which of a request's parts is missing.
func required(parts map[string]bool) error {
	for name, is := range parts {
		if !is {
			return status.Errorf(codes.InvalidArgument, "the request has no %s", name)
		}
	}
	return nil
}

// usable checks what is asked of a volume.
func usable(all []*csi.VolumeCapability, shared bool) error {
	for _, c := range all {
		if c.GetBlock() != nil {
			return status.Error(codes.InvalidArgument, "the driver has no block volumes")
		}

		switch mode := c.GetAccessMode().GetMode(); mode {
		case csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER,
			csi.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER,
			csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY:
			if !shared {
				return status.Errorf(codes.InvalidArgument, "access mode %s: a volume is on one node", mode)
			}
		}
	}

	return nil
}

// sizeOf returns the size that is asked for.
func sizeOf(r *csi.CapacityRange) (int64, error) {
	size := r.GetRequiredBytes()
	if size == 0 {
		size = usual
		if limit := r.GetLimitBytes(); limit != 0 {
			size = min(size, limit)
		}
	}
	if size < 0 || (r.GetLimitBytes() != 0 && size > r.GetLimitBytes()) {
		return 0, status.Errorf(codes.OutOfRange, "from %d to %d bytes", r.GetRequiredBytes(), r.GetLimitBytes())
	}
	return size, nil
}

// CreateVolume makes a volume, empty or as a copy.
func (c *controller) CreateVolume(ctx context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if err := required(map[string]bool{
		"name": r.GetName() != "", "volume capabilities": len(r.GetVolumeCapabilities()) != 0,
	}); err != nil {
		return nil, err
	}
	if err := usable(r.GetVolumeCapabilities(), c.shape.attaches() == ""); err != nil {
		return nil, err
	}

	name, err := nameOf(r.GetName())
	if err != nil {
		return nil, err
	}
	size, err := sizeOf(r.GetCapacityRange())
	if err != nil {
		return nil, err
	}

	kind, from := sourceOf(r.GetVolumeContentSource())
	place, err := c.shape.place(r, from)
	if err != nil {
		return nil, err
	}

	v := &csi.Volume{VolumeContext: map[string]string{}, ContentSource: r.GetVolumeContentSource()}
	err = c.with(ctx, "@"+place, r.GetSecrets(), func(s store) error {
		v.VolumeId = s.id(name)
		if _, has, err := s.find(volumes, name); err == nil {
			v.CapacityBytes = has.Size
			if has.Source != from || has.Size < size ||
				(r.GetCapacityRange().GetLimitBytes() != 0 && has.Size > r.GetCapacityRange().GetLimitBytes()) {
				return status.Errorf(codes.AlreadyExists, "volume %q is there, and another one", name)
			}
			return nil
		} else if status.Code(err) != codes.NotFound {
			return err
		}

		folder := ""
		if from != "" {
			source, has, err := s.find(kind, from)
			if err != nil {
				return err
			}
			if size < has.Size {
				return status.Errorf(codes.OutOfRange, "%d bytes are less than the %d of %q", size, has.Size, from)
			}
			folder = kind + "/" + source
		}

		v.CapacityBytes = size
		return s.make(volumes, name, folder, record{
			Size:    size,
			Source:  from,
			Created: time.Now(),
		})
	})
	if err != nil {
		return nil, err
	}
	fmt.Println("created", v.GetVolumeId(), "of", from)
	c.shape.describe(v)
	return &csi.CreateVolumeResponse{Volume: v}, nil
}

// sourceOf returns what a volume is made of.
func sourceOf(s *csi.VolumeContentSource) (kind, id string) {
	if snapshot := s.GetSnapshot(); snapshot != nil {
		return snapshots, snapshot.GetSnapshotId()
	}
	return volumes, s.GetVolume().GetVolumeId()
}

// DeleteVolume removes a volume that no node uses.
func (c *controller) DeleteVolume(ctx context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if err := required(map[string]bool{"volume ID": r.GetVolumeId() != ""}); err != nil {
		return nil, err
	}

	err := c.with(ctx, r.GetVolumeId(), r.GetSecrets(), func(s store) error {
		_, has, err := s.find(volumes, r.GetVolumeId())
		if status.Code(err) == codes.NotFound {
			return nil
		}

		if err == nil && (has.Node != "" || len(has.Targets) != 0) {
			err = status.Errorf(codes.FailedPrecondition, "volume %q is used: node %q, %q",
				r.GetVolumeId(), has.Node, has.Targets)
		}
		if err != nil {
			return err
		}
		fmt.Println("deleted", r.GetVolumeId())
		return s.remove(volumes, r.GetVolumeId())
	})

	return &csi.DeleteVolumeResponse{}, err
}

// ControllerPublishVolume attaches a volume to the node that it is on.
func (c *controller) ControllerPublishVolume(ctx context.Context, r *csi.ControllerPublishVolumeRequest,
) (*csi.ControllerPublishVolumeResponse, error) {
	if err := required(map[string]bool{
		"volume ID": r.GetVolumeId() != "", "node ID": r.GetNodeId() != "",
		"volume capability": r.GetVolumeCapability() != nil,
	}); err != nil {
		return nil, err
	}

	err := c.with(ctx, r.GetVolumeId(), r.GetSecrets(), func(s store) error {
		name, has, err := s.find(volumes, r.GetVolumeId())
		if err != nil {
			return err
		}
		if r.GetNodeId() != c.shape.attaches() {
			return status.Errorf(codes.NotFound, "volume %q is not on node %q", r.GetVolumeId(), r.GetNodeId())
		}
		fmt.Println("attached", r.GetVolumeId(), "to", r.GetNodeId())
		has.Node = r.GetNodeId()

		return s.write(volumes, name, has)
	})

	return &csi.ControllerPublishVolumeResponse{}, err
}

// ControllerUnpublishVolume detaches a volume.
func (c *controller) ControllerUnpublishVolume(ctx context.Context, r *csi.ControllerUnpublishVolumeRequest,
) (*csi.ControllerUnpublishVolumeResponse, error) {
	if err := required(map[string]bool{"volume ID": r.GetVolumeId() != ""}); err != nil {
		return nil, err
	}

	err := c.with(ctx, r.GetVolumeId(), r.GetSecrets(), func(s store) error {
		name, has, err := s.find(volumes, r.GetVolumeId())
		if status.Code(err) == codes.NotFound {
			return nil
		}
		if err != nil || has.Node == "" {
			return err
		}
		fmt.Println("detached", r.GetVolumeId(), "from", has.Node)
		has.Node = ""

		return s.write(volumes, name, has)
	})

	return &csi.ControllerUnpublishVolumeResponse{}, err
}

// ValidateVolumeCapabilities says whether a volume can be used as is asked.
func (c *controller) ValidateVolumeCapabilities(ctx context.Context, r *csi.ValidateVolumeCapabilitiesRequest,
) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if err := required(map[string]bool{
		"volume ID": r.GetVolumeId() != "", "volume capabilities": len(r.GetVolumeCapabilities()) != 0,
	}); err != nil {
		return nil, err
	}

	if err := c.with(ctx, r.GetVolumeId(), r.GetSecrets(), func(s store) error {
		_, _, err := s.find(volumes, r.GetVolumeId())
		return err
	}); err != nil {
		return nil, err
	}
	if err := usable(r.GetVolumeCapabilities(), c.shape.attaches() == ""); err != nil {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: err.Error()}, nil //nolint:nilerr // said
	}

	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeCapabilities: r.GetVolumeCapabilities(),
	}}, nil
}

// ControllerExpandVolume makes a volume larger.
func (c *controller) ControllerExpandVolume(ctx context.Context, r *csi.ControllerExpandVolumeRequest,
) (*csi.ControllerExpandVolumeResponse, error) {
	if err := required(map[string]bool{
		"volume ID": r.GetVolumeId() != "", "capacity range": r.GetCapacityRange() != nil,
	}); err != nil {
		return nil, err
	}
	size, err := sizeOf(r.GetCapacityRange())
	if err != nil {
		return nil, err
	}

	err = c.with(ctx, r.GetVolumeId(), r.GetSecrets(), func(s store) error {
		name, has, err := s.find(volumes, r.GetVolumeId())
		if err != nil {
			return err
		}
		has.Size = max(has.Size, size)
		size = has.Size
		return s.write(volumes, name, has)
	})

	return &csi.ControllerExpandVolumeResponse{
		CapacityBytes: size, NodeExpansionRequired: c.shape.attaches() != "",
	}, err
}

// CreateSnapshot copies a volume.
func (c *controller) CreateSnapshot(ctx context.Context, r *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse,
	error,
) {
	if err := required(map[string]bool{
		"name": r.GetName() != "", "source volume ID": r.GetSourceVolumeId() != "",
	}); err != nil {
		return nil, err
	}
	name, err := nameOf(r.GetName())
	if err != nil {
		return nil, err
	}

	shot := &csi.Snapshot{SourceVolumeId: r.GetSourceVolumeId(), ReadyToUse: true}
	err = c.with(ctx, r.GetSourceVolumeId(), r.GetSecrets(), func(s store) error {
		shot.SnapshotId = s.id(name)
		_, has, err := s.find(snapshots, name)
		if status.Code(err) == codes.NotFound {
			source, volume, err := s.find(volumes, r.GetSourceVolumeId())
			if err != nil {
				return err
			}
			has = record{
				Size:    volume.Size,
				Source:  r.GetSourceVolumeId(),
				Created: time.Now(),
			}

			if err := s.make(snapshots, name, volumes+"/"+source, has); err != nil {
				return err
			}
			fmt.Println("created", shot.GetSnapshotId(), "of", has.Source)
		} else if err != nil {
			return err
		}
		if has.Source != r.GetSourceVolumeId() {
			return status.Errorf(codes.AlreadyExists, "snapshot %q is there, of %q", name, has.Source)
		}

		shot.SizeBytes, shot.CreationTime = has.Size, timestamppb.New(has.Created)
		return nil
	})
	if err != nil {
		return nil, err
	}

	return &csi.CreateSnapshotResponse{Snapshot: shot}, nil
}

// DeleteSnapshot removes a snapshot.
func (c *controller) DeleteSnapshot(ctx context.Context, r *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse,
	error,
) {
	if err := required(map[string]bool{"snapshot ID": r.GetSnapshotId() != ""}); err != nil {
		return nil, err
	}
	if _, err := nameOf(r.GetSnapshotId()); err != nil {
		return &csi.DeleteSnapshotResponse{}, nil //nolint:nilerr // nothing has such a name
	}
	err := c.with(ctx, r.GetSnapshotId(), r.GetSecrets(), func(s store) error {
		fmt.Println("deleted", r.GetSnapshotId())
		return s.remove(snapshots, r.GetSnapshotId())
	})
	return &csi.DeleteSnapshotResponse{}, err
}
