//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// killedYAML is a small cluster beside those of other tests.
const killedYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-killed
networking: {underlaySubnet: 10.221.0.0/24, podSubnet: 10.71.0.0/16, serviceSubnet: 10.171.0.0/16}
nodes:
- {windowsVersion: ltsc2022}
`

// TestKilledUp kills a new cluster's up and its supervisor (SIGKILL) at several moments: nothing goes on by itself that
// the next command does not end, though Wine's programs, which make the template, do not say whose they are. A down
// leaves nothing, and an up brings a whole cluster.
func TestKilledUp(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	needs(t)

	c := newCluster(t)
	c.bin = withoutPacked(t, c.bin)
	file := filepath.Join(c.home, "cluster.yaml")
	if err := os.WriteFile(file, []byte(killedYAML), 0o600); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { c.takeDown(t) })
	for _, moment := range []string{" supervise ", "wineboot", "rundll32"} {
		c.killUp(t, file, moment)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if out, err := c.mullion(ctx, t, "down"); err != nil {
			t.Errorf("killed at %q: mullion down: %v\n%s", moment, err, out)
		}
		cancel()
		if left := c.traces(t); len(left) > 0 {
			t.Errorf("killed at %q: mullion down left behind:\n%s", moment, strings.Join(left, "\n"))
		}
	}

	c.killUp(t, file, "wineboot")
	if out, err := c.mullion(t.Context(), t, "up", "-f", file); err != nil {
		t.Errorf("after a kill: mullion up: %v\n%s", err, out)
	}

	// While a node is added to the cluster that is up, the same: the next up has it.
	if err := os.WriteFile(file, []byte(killedYAML+"- {name: killed-later, os: linux}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.killUp(t, file, "killed-later")
	if out, err := c.mullion(t.Context(), t, "up"); err != nil {
		t.Errorf("after a kill while a node was added: mullion up: %v\n%s", err, out)
	}
	c.healthy(t)
	if out, err := c.mullion(t.Context(), t, "kubectl", "get", "nodes", "-o", "name"); err != nil || !strings.Contains(out, "killed-later") {
		t.Errorf("nodes: %v\n%s", err, out)
	}
}

// withoutPacked returns programs that have no packed prefix beside them, so that an up runs wineboot. Nodes see nothing
// of /tmp, so the folder is beside bin.
func withoutPacked(t *testing.T, bin string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(bin, "wine")); errors.Is(err, fs.ErrNotExist) {
		return bin
	}
	cache := filepath.Join(filepath.Dir(bin), ".cache")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}

	dir, err := os.MkdirTemp(cache, "bin-") //nolint:usetesting // hard links want the same file system
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})

	if out, err := exec.Command("cp", "-al", bin+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.RemoveAll(filepath.Join(dir, "wine"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// killUp begins to bring up a cluster, and kills up and its supervisor as soon as a process of the cluster's has the
// text in its command line.
func (c cluster) killUp(t *testing.T, file, moment string) {
	t.Helper()
	up := exec.CommandContext(t.Context(), filepath.Join(c.bin, "mullion"), "up", "-f", file)
	up.Env = c.env()
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}

	until(t, settle, func() error {
		for _, command := range c.processes(t) {
			if strings.Contains(command, moment) {
				return nil
			}
		}
		return fmt.Errorf("no process with %q", moment)
	})

	if err := up.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = up.Wait()
	for pid, command := range c.processes(t) {
		if strings.Contains(command, " supervise ") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Errorf("the supervisor: %v", err)
			}
		}
	}
}
