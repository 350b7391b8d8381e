package cri_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/critest"
)

// TestOldKubeletsClient leads a pod through its life by the client of Kubernetes 1.20, which calls CRI's services by
// their second name (test/cri/v1alpha2).
func TestOldKubeletsClient(t *testing.T) {
	client := filepath.Join(t.TempDir(), "v1alpha2")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", client, ".")
	build.Dir = filepath.FromSlash("../../../test/cri/v1alpha2")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the client: %v\n%s", err, out)
	}
	n := critest.NewNode(t)
	n.Engine.OnExec = program

	run := exec.CommandContext(t.Context(), client, n.Socket(), critest.RemoteImage)
	out, err := run.Output()
	if err != nil {
		var failed *exec.ExitError
		errors.As(err, &failed)
		t.Fatalf("%v\n%s", err, failed.Stderr)
	}

	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}

	want := map[string]any{
		"Version":    "0.1.0 v1alpha2",
		"Ready":      []any{"RuntimeReady true", "NetworkReady true"},
		"Image":      critest.RemoteImage,
		"Pod":        "SANDBOX_READY",
		"Address":    "10.9.0.1",
		"Container":  "CONTAINER_RUNNING",
		"ExecOutput": "ends with 7",
		"ExecCode":   7.0,
		"Stats":      true,
		"ExitCode":   -1073741510.0, // STATUS_CONTROL_C_EXIT
		"Left":       0.0,
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the client was told (-want +got):\n%s", diff)
	}
}

// TestSecondNameHasEveryCall: a call by the second name ends as that by the first, with the same code.
func TestSecondNameHasEveryCall(t *testing.T) {
	n := critest.NewNode(t)
	conn, err := grpc.NewClient("unix:"+n.Socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := func(method, id string) error {
		var answer runtimeapi.StopContainerResponse // what it says is not looked at
		return conn.Invoke(t.Context(), method, &runtimeapi.StopContainerRequest{ContainerId: id}, &answer)
	}

	for _, service := range []string{"RuntimeService", "ImageService"} {
		desc := runtimeapi.RuntimeService_ServiceDesc
		if service == "ImageService" {
			desc = runtimeapi.ImageService_ServiceDesc
		}

		for _, m := range desc.Methods {
			if m.MethodName == "UpdateRuntimeConfig" {
				continue // the message would be read as a range of pods' addresses
			}
			first := ask("/runtime.v1."+service+"/"+m.MethodName, "none")
			second := ask("/runtime.v1alpha2."+service+"/"+m.MethodName, "none")
			expect(t, second, status.Code(first))
		}
	}

	expect(t, ask("/runtime.v1alpha1.RuntimeService/Version", ""), codes.Unimplemented, "runtime.v1alpha1.RuntimeService")
}
