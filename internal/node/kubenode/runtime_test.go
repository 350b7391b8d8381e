package kubenode

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// told is a container runtime that answers its version, and keeps what it is told of its pods' addresses.
type told struct {
	criapi.UnimplementedRuntimeServiceServer
	cidrs string
}

func (*told) Version(context.Context, *criapi.VersionRequest) (*criapi.VersionResponse, error) {
	return &criapi.VersionResponse{RuntimeName: "containerd"}, nil
}

func (r *told) UpdateRuntimeConfig(_ context.Context, q *criapi.UpdateRuntimeConfigRequest) (
	*criapi.UpdateRuntimeConfigResponse, error,
) {
	r.cidrs = q.GetRuntimeConfig().GetNetworkConfig().GetPodCidr()
	return &criapi.UpdateRuntimeConfigResponse{}, nil
}

// A container runtime is asked whether it answers, and told its pods' addresses; one that is away does neither.
func TestAskingARuntime(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "cri.sock"))
	if err != nil {
		t.Fatal(err)
	}
	runtime := &told{}
	server := grpc.NewServer()
	criapi.RegisterRuntimeServiceServer(server, runtime)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()

	dial := func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", l.Addr().String())
	}
	if err := RuntimeAnswers(t.Context(), dial); err != nil {
		t.Error(err)
	}
	if err := SetPodCIDR(t.Context(), dial, "10.244.1.0/24"); err != nil || runtime.cidrs != "10.244.1.0/24" {
		t.Errorf("it was told %q, %v", runtime.cidrs, err)
	}

	server.Stop()
	if err := RuntimeAnswers(t.Context(), dial); err == nil {
		t.Error("a runtime that is away answers")
	}
	if err := SetPodCIDR(t.Context(), dial, "10.244.1.0/24"); err == nil {
		t.Error("a runtime that is away was told something")
	}
}
