package main

import (
	"context"
	"net"
	"slices"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// router is the controller of volumes that are folders of nodes. The controller of each node does the work; which one,
// the ID of a volume says, or where a new one may be.
type router struct {
	csi.UnimplementedControllerServer

	driver, port, token string

	mu    sync.Mutex
	nodes map[string]csi.ControllerClient // by address
}

// tokenKey names the token in a call's metadata.
const tokenKey = "token"

// node returns the controller at an address. The cluster's network is trusted here, as a test's driver may; the token
// keeps pods from it.
func (r *router) node(ctx context.Context, address string) (context.Context, csi.ControllerClient, error) {
	if net.ParseIP(address) == nil {
		return ctx, nil, status.Errorf(codes.NotFound, "no node at %q", address)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx = metadata.AppendToOutgoingContext(ctx, tokenKey, r.token)
	if client, has := r.nodes[address]; has {
		return ctx, client, nil
	}

	conn, err := grpc.NewClient(net.JoinHostPort(address, r.port),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return ctx, nil, err
	}
	r.nodes[address] = csi.NewControllerClient(conn)
	return ctx, r.nodes[address], nil
}

// route calls a method of the controller at an address.
func route[I, O any](ctx context.Context, r *router, address string, in I,
	method func(csi.ControllerClient) func(context.Context, I, ...grpc.CallOption) (O, error),
) (O, error) {
	ctx, client, err := r.node(ctx, address)
	if err != nil {
		var none O
		return none, err
	}
	return method(client)(ctx, in)
}

// CreateVolume makes a volume on the node of what it is made of, or on the one that is liked best.
func (r *router) CreateVolume(ctx context.Context, in *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	var may []string
	for _, t := range slices.Concat(in.GetAccessibilityRequirements().GetPreferred(),
		in.GetAccessibilityRequirements().GetRequisite()) {
		may = append(may, t.GetSegments()[r.driver+addressKey])
	}

	address := ""
	if len(may) != 0 {
		address = may[0]
	}

	if _, from := sourceOf(in.GetVolumeContentSource()); from != "" {
		if address = placeOf(from); !slices.Contains(may, address) {
			return nil, status.Errorf(codes.ResourceExhausted, "%q is on the node %s, and the volume has to be on one of %v",
				from, address, may)
		}
	}
	if address == "" {
		return nil, status.Error(codes.InvalidArgument, "the request says no node: topology is not on")
	}

	return route(ctx, r, address, in, func(c csi.ControllerClient) func(context.Context, *csi.CreateVolumeRequest,
		...grpc.CallOption) (*csi.CreateVolumeResponse, error) {
		return c.CreateVolume
	})
}

// DeleteVolume has the volume's node remove it.
func (r *router) DeleteVolume(ctx context.Context, in *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	return route(ctx, r, placeOf(in.GetVolumeId()), in, func(c csi.ControllerClient) func(context.Context,
		*csi.DeleteVolumeRequest, ...grpc.CallOption) (*csi.DeleteVolumeResponse, error) {
		return c.DeleteVolume
	})
}

// ControllerPublishVolume has the volume's node attach it.
func (r *router) ControllerPublishVolume(ctx context.Context, in *csi.ControllerPublishVolumeRequest,
) (*csi.ControllerPublishVolumeResponse, error) {
	return route(ctx, r, placeOf(in.GetVolumeId()), in, func(c csi.ControllerClient) func(context.Context,
		*csi.ControllerPublishVolumeRequest, ...grpc.CallOption) (*csi.ControllerPublishVolumeResponse, error) {
		return c.ControllerPublishVolume
	})
}

// ControllerUnpublishVolume has the volume's node detach it.
func (r *router) ControllerUnpublishVolume(ctx context.Context, in *csi.ControllerUnpublishVolumeRequest,
) (*csi.ControllerUnpublishVolumeResponse, error) {
	return route(ctx, r, placeOf(in.GetVolumeId()), in, func(c csi.ControllerClient) func(context.Context,
		*csi.ControllerUnpublishVolumeRequest, ...grpc.CallOption) (*csi.ControllerUnpublishVolumeResponse, error) {
		return c.ControllerUnpublishVolume
	})
}

// ValidateVolumeCapabilities asks the volume's node.
func (r *router) ValidateVolumeCapabilities(ctx context.Context, in *csi.ValidateVolumeCapabilitiesRequest,
) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	return route(ctx, r, placeOf(in.GetVolumeId()), in, func(c csi.ControllerClient) func(context.Context,
		*csi.ValidateVolumeCapabilitiesRequest, ...grpc.CallOption) (*csi.ValidateVolumeCapabilitiesResponse, error) {
		return c.ValidateVolumeCapabilities
	})
}

// ControllerExpandVolume has the volume's node make it larger.
func (r *router) ControllerExpandVolume(ctx context.Context, in *csi.ControllerExpandVolumeRequest,
) (*csi.ControllerExpandVolumeResponse, error) {
	return route(ctx, r, placeOf(in.GetVolumeId()), in, func(c csi.ControllerClient) func(context.Context,
		*csi.ControllerExpandVolumeRequest, ...grpc.CallOption) (*csi.ControllerExpandVolumeResponse, error) {
		return c.ControllerExpandVolume
	})
}

// CreateSnapshot has the volume's node copy it.
func (r *router) CreateSnapshot(ctx context.Context, in *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse,
	error,
) {
	return route(ctx, r, placeOf(in.GetSourceVolumeId()), in, func(c csi.ControllerClient) func(context.Context,
		*csi.CreateSnapshotRequest, ...grpc.CallOption) (*csi.CreateSnapshotResponse, error) {
		return c.CreateSnapshot
	})
}

// DeleteSnapshot has the snapshot's node remove it.
func (r *router) DeleteSnapshot(ctx context.Context, in *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse,
	error,
) {
	return route(ctx, r, placeOf(in.GetSnapshotId()), in, func(c csi.ControllerClient) func(context.Context,
		*csi.DeleteSnapshotRequest, ...grpc.CallOption) (*csi.DeleteSnapshotResponse, error) {
		return c.DeleteSnapshot
	})
}

// GetCapacity asks the node of a topology.
func (r *router) GetCapacity(ctx context.Context, in *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	address := in.GetAccessibleTopology().GetSegments()[r.driver+addressKey]
	return route(ctx, r, address, in, func(c csi.ControllerClient) func(context.Context, *csi.GetCapacityRequest,
		...grpc.CallOption) (*csi.GetCapacityResponse, error) {
		return c.GetCapacity
	})
}

// ControllerGetCapabilities returns those of the nodes' controllers.
func (r *router) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	return answer(does(true)), nil
}

// listen serves by TCP: everybody may ask whether the driver is well, which the kubelet's probes do, and who has the
// token calls the controller, which may be nil.
func listen(address, token string, controller csi.ControllerServer) (func() error, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}

	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, in any, i *grpc.UnaryServerInfo,
		handler grpc.UnaryHandler,
	) (any, error) {
		given := metadata.ValueFromIncomingContext(ctx, tokenKey)
		if i.FullMethod != grpc_health_v1.Health_Check_FullMethodName && !slices.Equal(given, []string{token}) {
			return nil, status.Error(codes.Unauthenticated, "the call has not the token")
		}
		return handler(ctx, in)
	}))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	if controller != nil && token != "" {
		csi.RegisterControllerServer(server, controller)
	}

	return func() error { return server.Serve(listener) }, nil
}
