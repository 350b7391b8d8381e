package kubenode

import (
	"context"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/process/component"
)

// noCNI is what container runtimes say of a network that lacks its CNI plugin
// (https://github.com/containerd/go-cni/blob/v1.1.14/errors.go).
const noCNI = "cni plugin not initialized"

// RuntimeAnswers asks a container runtime over CRI for its version, and returns an error if it does not say it. dial
// makes the connection.
func RuntimeAnswers(ctx context.Context, dial func(ctx context.Context) (net.Conn, error)) error {
	conn, err := connect(dial)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err = criapi.NewRuntimeServiceClient(conn).Version(ctx, &criapi.VersionRequest{}); err != nil {
		return fmt.Errorf("ask the container runtime: %w", err)
	}
	return nil
}

// SetPodCIDR tells a container runtime over CRI the node's ranges of pod addresses, as the kubelet does.
func SetPodCIDR(ctx context.Context, dial func(ctx context.Context) (net.Conn, error), cidrs string) error {
	conn, err := connect(dial)
	if err != nil {
		return err
	}
	defer conn.Close()
	config := &criapi.RuntimeConfig{NetworkConfig: &criapi.NetworkConfig{PodCidr: cidrs}}
	_, err = criapi.NewRuntimeServiceClient(conn).UpdateRuntimeConfig(ctx,
		&criapi.UpdateRuntimeConfigRequest{RuntimeConfig: config})
	if err != nil {
		return fmt.Errorf("tell the container runtime its pods' addresses: %w", err)
	}
	return nil
}

func connect(dial func(ctx context.Context) (net.Conn, error)) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///cri", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }))
}

// RuntimeHealth asks a container runtime over CRI whether it can run containers and connect pods: nil, or the
// conditions that do not hold. dial makes the connection. The kubelet makes the node's Ready condition of the same two
// conditions: https://github.com/kubernetes/cri-api/blob/v0.36.3/pkg/apis/runtime/v1/constants.go
func RuntimeHealth(ctx context.Context, dial func(ctx context.Context) (net.Conn, error)) error {
	conn, err := connect(dial)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := criapi.NewRuntimeServiceClient(conn).Status(ctx, &criapi.StatusRequest{})
	if err != nil {
		return fmt.Errorf("ask the container runtime: %w", err)
	}

	var wrong []string
	var reason component.Reason
	for _, c := range answer.GetStatus().GetConditions() {
		// others are warnings
		if !c.GetStatus() && (c.GetType() == criapi.RuntimeReady || c.GetType() == criapi.NetworkReady) {
			wrong = append(wrong, strings.TrimSpace(fmt.Sprintf("%s is false: %s %s", c.GetType(), c.GetReason(),
				c.GetMessage())))
			if strings.Contains(c.GetMessage(), noCNI) {
				reason = component.NoCNI
			}
		}
	}
	if len(wrong) > 0 {
		err := fmt.Errorf("the container runtime says that %s", strings.Join(wrong, "; "))
		return &component.ReasonError{Reason: reason, Err: err}
	}

	return nil
}
