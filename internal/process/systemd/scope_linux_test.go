package systemd_test

import (
	"os"
	"testing"

	"mullion.dev/mullion/internal/process/systemd"
)

// Without systemd there is no scope, and none is asked for. The rung machines tests it with systemd.
func TestWithoutSystemd(t *testing.T) {
	if systemd.Running() {
		t.Skip("systemd runs this machine")
	}
	if path, ok := systemd.Delegated("mullion-test.scope"); ok || path != "" {
		t.Errorf("delegated: %q, %t", path, ok)
	}

	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	if err := systemd.EnterScope(t.Context(), "mullion-test.scope", "a test", 1000); err != nil {
		t.Error(err)
	}

	if after, err := os.ReadFile("/proc/self/cgroup"); err != nil || string(after) != string(before) {
		t.Errorf("the cgroups were %s, and are %s (%v)", before, after, err)
	}
}
