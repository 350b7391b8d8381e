//go:build wine

package hnswine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVersionOne has a Windows program make a compute system by version 1 of the Host Compute Service: what it is
// refused says why, its programs have their streams, and it is told of the ends.
func TestVersionOne(t *testing.T) {
	c := newCluster(t)
	h := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	buildLoad(t, h)
	const layer, scratch = `C:\layers\base`, `C:\layers\scratch`
	if err := os.MkdirAll(filepath.Join(h.prefix, "drive_c/layers/base/Files"), 0o755); err != nil {
		t.Fatal(err)
	}

	volume := ""
	for _, call := range [][]string{
		{"ProcessBaseImage", layer},
		{"CreateSandboxLayer", scratch},
		{"ActivateLayer", scratch},
		{"PrepareLayer", scratch, layer + "\n"},
		{"GetLayerMountPath", scratch},
	} {
		answer, err := h.systems.Call(t.Context(), call[0], call[1:])
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		volume = answer.Text
	}

	out, err := h.wine(t.Context(), nil, nil, `C:\hnsload.exe`, "systems", volume, layer)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	got := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(out), "\r", "")), "\n")
	want := []string{
		`HcsCreateComputeSystem: 0xc037010d {"Error":-1070137075,"ErrorMessage":"`,
		`HcsCreateComputeSystem: 0xc037010d {"Error":-1070137075,"ErrorMessage":"`,
		`later: "through" <nil>`,
		`2: 0x10000 0x0 {"Exited":true,"ExitCode":519,"LastWaitResult":0}`,
		`true`,
		`HcsTerminateProcess: 0x`,
		`1: 0x1 0x0 {"Status":0,"ExitType":"GracefulExit"}`,
		`first: "hello" <nil>`,
	}
	if len(got) != len(want) {
		t.Fatalf("the program prints\n%s", strings.Join(got, "\n"))
	}

	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("line %d is %q, want %q", i, got[i], want[i])
		}
	}

	if h.systems.Has("one") {
		t.Error("the compute system is left")
	}
}
