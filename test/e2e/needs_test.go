//go:build cluster || conformance

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/test/built"
)

// need is what a test cannot do without on this machine. It returns why the test is left out, "" if it is not.
type need func(t *testing.T) (why string)

// needs leaves a test out where it cannot run: without root, or without what is named.
func needs(t *testing.T, all ...need) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, n := range all {
		if why := n(t); why != "" {
			t.Skip(why)
		}
	}
}

// ownCluster is a cluster of the test's own: that of E2E_DATA_DIR will not do, and why says why.
func ownCluster(why string) need {
	return func(*testing.T) string {
		if os.Getenv("E2E_DATA_DIR") == "" {
			return ""
		}
		return why
	}
}

// program is a file below bin, which `make TARGET` gets; what says to people which.
func program(file, what, target string) need {
	return func(t *testing.T) string {
		t.Helper()
		if _, err := os.Stat(filepath.Join(built.Dir(t), file)); err != nil {
			return fmt.Sprintf("needs %s: make %s: %v", what, target, err)
		}
		return ""
	}
}

// dockerProgram is one of upstream's programs of Docker, or one that goes with it.
func dockerProgram(file string) need { return program("docker-windows/"+file, file, "docker-windows") }

// kubernetes is another version of Kubernetes than Mullion's own.
func kubernetes(version string) need {
	return func(t *testing.T) string {
		t.Helper()
		if missing := bundle.At(built.Dir(t), version).Missing(); len(missing) > 0 {
			return fmt.Sprintf("needs %v: make bundle VERSION=%s", missing, version)
		}
		return ""
	}
}

// containerdOf is the containerd that Linux nodes of an old version of Kubernetes call.
func containerdOf(version string) need {
	return func(t *testing.T) string {
		t.Helper()
		if bundle.At(built.Dir(t), version).HasContainerd() {
			return ""
		}
		return fmt.Sprintf("needs the containerd of Kubernetes %[1]s: make bundle VERSION=%[1]s", version)
	}
}

// installed is a program of the distribution, in its package.
func installed(name, debian string) need {
	return func(*testing.T) string {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Sprintf("needs %s (Debian's package %s): %v", name, debian, err)
		}
		return ""
	}
}
