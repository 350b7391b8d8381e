package local

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/Microsoft/go-winio"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeTimeout bounds one call of the container runtime.
const runtimeTimeout = 2 * time.Minute

// dial connects to a container runtime at npipe:////./pipe/NAME.
func dial(endpoint string) (*grpc.ClientConn, error) {
	path, ok := strings.CutPrefix(endpoint, "npipe://")
	if !ok {
		return nil, fmt.Errorf("the endpoint %q does not begin with npipe://", endpoint)
	}
	pipe := strings.ReplaceAll(path, "/", `\`)
	return grpc.NewClient("passthrough:///cri", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return winio.DialPipeContext(ctx, pipe)
		}))
}

// runtimeAnswers asks a container runtime for its version.
func runtimeAnswers(ctx context.Context, endpoint string) error {
	conn, err := dial(endpoint)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err = criapi.NewRuntimeServiceClient(conn).Version(ctx, &criapi.VersionRequest{})
	return err
}

// endPods stops and removes all pods of a container runtime, and returns how many there were.
func endPods(ctx context.Context, endpoint string) (int, error) {
	conn, err := dial(endpoint)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, runtimeTimeout)
	defer cancel()

	return endAll(ctx, criapi.NewRuntimeServiceClient(conn))
}
