//go:build cluster

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/test/built"
)

// TestGoPackage runs the test that is the example of package clustertest: with a cluster of its own, beside any other.
func TestGoPackage(t *testing.T) {
	needs(t)
	sideBySide(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, "go", "-C", "../../pkg", "test", "-tags", "cluster", "-count=1", "-v", "-run",
		"TestPodsOnWindows", "./clustertest")
	logs := t.TempDir()
	cmd.Env = append(os.Environ(), "MULLION="+filepath.Join(built.Dir(t), "mullion"), "MULLION_REQUIRED=1", "MULLION_LOGS="+logs)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	} else {
		t.Logf("%s", out)
	}

	if left, err := os.ReadDir("/var/lib/mullion-clusters"); err == nil {
		for _, e := range left {
			t.Errorf("there still is %s", e.Name())
		}
	}
}

// TestFieldE2EFramework runs the tests of the provider for sigs.k8s.io/e2e-framework, with a cluster of its own, and
// controller-runtime's envtest on that.
func TestFieldE2EFramework(t *testing.T) {
	needs(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, "go", "-C", "../../pkg/e2eframework", "test", "-tags", "cluster", "-count=1", "-v", "./...")
	cmd.Env = append(os.Environ(), "MULLION="+filepath.Join(built.Dir(t), "mullion"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	for _, name := range []string{"TestProvider", "TestNodes", "TestController"} {
		if err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	if left, err := os.ReadDir("/var/lib/mullion-clusters"); err == nil && len(left) > 0 {
		t.Errorf("there still is %v", left)
	}
}
