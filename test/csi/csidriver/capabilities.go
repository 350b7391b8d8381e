package main

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// does returns the capabilities of the controllers.
func does(attaches bool) []csi.ControllerServiceCapability_RPC_Type {
	all := []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_CLONE_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
		csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	}
	if attaches {
		all = append(all, csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
			csi.ControllerServiceCapability_RPC_GET_CAPACITY)
	}
	return all
}

func answer(all []csi.ControllerServiceCapability_RPC_Type) *csi.ControllerGetCapabilitiesResponse {
	var r csi.ControllerGetCapabilitiesResponse
	for _, t := range all {
		rpc := &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: t}}
		r.Capabilities = append(r.Capabilities, &csi.ControllerServiceCapability{Type: rpc})
	}
	return &r
}

// ControllerGetCapabilities says what the controller does.
func (c *controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	return answer(does(c.shape.attaches() != "")), nil
}

// GetCapacity says how large a volume can be.
func (c *controller) GetCapacity(ctx context.Context, r *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	h, is := c.shape.(hostPath)
	if !is {
		return c.UnimplementedControllerServer.GetCapacity(ctx, r)
	}
	free, err := h.capacity()
	return &csi.GetCapacityResponse{AvailableCapacity: free}, err
}

// NodeGetCapabilities says what the node part does.
func (n *node) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse,
	error,
) {
	types := []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
		csi.NodeServiceCapability_RPC_EXPAND_VOLUME,
		csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	}
	if n.attached {
		types = append(types, csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME)
	}

	var r csi.NodeGetCapabilitiesResponse
	for _, t := range types {
		rpc := &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: t}}
		r.Capabilities = append(r.Capabilities, &csi.NodeServiceCapability{Type: rpc})
	}

	return &r, nil
}
