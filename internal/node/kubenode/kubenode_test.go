package kubenode

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/process/component"
)

// What kube-proxy answers before and after its first round, as v1.36.3 writes it.
func TestProxySynced(t *testing.T) {
	const before = `{"lastUpdated":"2026-01-01T00:00:00Z","currentTime":"2026-01-01T00:00:00Z","nodeEligible":true,"healthy":true}`
	const after = `{"lastUpdated":"2026-01-01T00:00:00Z","currentTime":"2026-01-01T00:00:00Z","nodeEligible":true,"healthy":true,` +
		`"status":{"IPv4":{"lastUpdated":"2026-01-01T00:00:00Z","healthy":true}}}`
	if err := proxySynced([]byte(before)); err == nil {
		t.Error("ready before the first round")
	}
	if err := proxySynced([]byte(after)); err != nil {
		t.Errorf("after the first round: %v", err)
	}

	const old = `{"lastUpdated": "0001-01-01 00:00:00 +0000 UTC","currentTime": "2026-01-01 00:00:00.1 +0000 UTC m=+2.1"}`
	if err := proxySynced([]byte(old)); err == nil {
		t.Error("1.20 is ready before the first round")
	}
	if err := proxySynced([]byte(strings.Replace(old, "0001", "2026", 1))); err != nil {
		t.Errorf("1.20 after the first round: %v", err)
	}

	if err := proxySynced([]byte("<html>")); err == nil {
		t.Error("no JSON is ready")
	}
}

// runtime answers Status with the conditions.
type runtime struct {
	criapi.UnimplementedRuntimeServiceServer
	conditions []*criapi.RuntimeCondition
}

func (r *runtime) Status(context.Context, *criapi.StatusRequest) (*criapi.StatusResponse, error) {
	return &criapi.StatusResponse{Status: &criapi.RuntimeStatus{Conditions: r.conditions}}, nil
}

func TestRuntimeHealth(t *testing.T) {
	for _, tt := range []struct {
		name       string
		conditions []*criapi.RuntimeCondition
		want       string
		reason     component.Reason
	}{
		{"well", []*criapi.RuntimeCondition{{
			Type:   criapi.RuntimeReady,
			Status: true,
		}, {Type: criapi.NetworkReady, Status: true}}, "", ""},
		{"warns", []*criapi.RuntimeCondition{{
			Type:   criapi.RuntimeReady,
			Status: true,
		}, {Type: "ContainerdHasNoDeprecationWarnings"}}, "", ""},
		{
			"no_network",
			[]*criapi.RuntimeCondition{{
				Type:   criapi.RuntimeReady,
				Status: true,
			}, {Type: criapi.NetworkReady, Reason: "NetworkPluginNotReady", Message: "no range"}},
			"NetworkReady is false: NetworkPluginNotReady no range",
			"",
		},
		{
			"no_cni",
			[]*criapi.RuntimeCondition{{
				Type:    criapi.NetworkReady,
				Reason:  "NetworkPluginNotReady",
				Message: "Network plugin returns error: cni plugin not initialized",
			}},
			"NetworkReady is false: NetworkPluginNotReady Network plugin returns error: cni plugin not initialized",
			component.NoCNI,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := net.Listen("unix", filepath.Join(t.TempDir(), "cri.sock"))
			if err != nil {
				t.Fatal(err)
			}
			server := grpc.NewServer()
			criapi.RegisterRuntimeServiceServer(server, &runtime{conditions: tt.conditions})
			go func() { _ = server.Serve(l) }()
			defer server.Stop()

			err = RuntimeHealth(t.Context(), func(ctx context.Context) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", l.Addr().String())
			})
			if got := strings.TrimPrefix(errText(err), "the container runtime says that "); got != tt.want {
				t.Errorf("RuntimeHealth() = %q, want %q", got, tt.want)
			}
			if got := component.ReasonOf(err); got != tt.reason {
				t.Errorf("its reason is %q, want %q", got, tt.reason)
			}
		})
	}

	nobody := func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(t.TempDir(), "none.sock"))
	}
	if err := RuntimeHealth(t.Context(), nobody); err == nil {
		t.Error("a runtime that is not there is well")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
