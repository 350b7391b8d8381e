package cri

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// alpha is the version of CRI that kubelets before Kubernetes 1.23 call, and no other. Its messages are those of v1,
// which began as a copy of it: fields that v1 got later are unknown to those kubelets, who pass over them.
// https://github.com/kubernetes/kubernetes/blob/v1.20.15/staging/src/k8s.io/cri-api/pkg/apis/runtime/v1alpha2/api.proto
const alpha = "v1alpha2"

// register has g answer both versions of CRI's services.
func (s *Server) register(g *grpc.Server) {
	runtimeapi.RegisterRuntimeServiceServer(g, s)
	runtimeapi.RegisterImageServiceServer(g, s)

	g.RegisterService(asAlpha(runtimeapi.RuntimeService_ServiceDesc), alphaServer{s})
	g.RegisterService(asAlpha(runtimeapi.ImageService_ServiceDesc), alphaServer{s})
}

// asAlpha returns a service under its second name.
func asAlpha(service grpc.ServiceDesc) *grpc.ServiceDesc {
	service.ServiceName = strings.Replace(service.ServiceName, "runtime.v1.", "runtime."+alpha+".", 1)
	return &service
}

// alphaServer is the server as kubelets of the second name see it.
type alphaServer struct{ *Server }

// Version says the version that was asked for.
func (s alphaServer) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return s.versionOf(alpha), nil
}
