package main

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// hostPath is the shape of volumes that are folders of one node.
type hostPath struct {
	disk disk
	// node is the node's name, address where its controller is, system its operating system.
	node, address, system string
	// driver is the driver's name.
	driver string
}

// The topology of a volume: the key's prefix is the driver's name. By the first the controller finds the node, by the
// second a StorageClass says for which system its volumes are.
const (
	addressKey = "/address"
	systemKey  = "/os"
)

func (h hostPath) topology() *csi.Topology {
	return &csi.Topology{Segments: map[string]string{h.driver + addressKey: h.address, h.driver + systemKey: h.system}}
}

func (h hostPath) place(_ *csi.CreateVolumeRequest, from string) (string, error) {
	if from != "" && placeOf(from) != h.address {
		return "", status.Errorf(codes.NotFound, "%q is not on %s", from, h.address)
	}
	return h.address, nil
}

func (h hostPath) open(context.Context, string, map[string]string) (store, func() error, error) {
	return store{files: h.disk, place: h.address}, func() error { return nil }, nil
}

func (h hostPath) describe(v *csi.Volume) { v.AccessibleTopology = []*csi.Topology{h.topology()} }

func (h hostPath) attaches() string { return h.node }

// capacity returns what fits on the node's disk.
func (h hostPath) capacity() (int64, error) { return capacity(h.disk.root.Name()) }
