//go:build cluster

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
)

// modeYAML uses other subnets than the other tests' clusters.
const modeYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-%[1]s
networking:
  mode: %[1]s
  underlaySubnet: 10.209.%[2]d.0/24
  podSubnet: 10.208.%[3]d.0/18
  serviceSubnet: 10.99.%[3]d.0/18
nodes:
- os: linux
  taint: true
- windowsVersion: ltsc2022
- windowsVersion: ltsc2025
`

// TestNetworkModes brings up a cluster in the mode overlay and one in the mode nat, and tests the flows that Windows
// documents for them. TestCluster has l2bridge, TestFieldNetworkModes the others.
func TestNetworkModes(t *testing.T) { testModes(t, "overlay", "nat") }

// TestFieldNetworkModes tests the modes l2tunnel and transparent likewise.
func TestFieldNetworkModes(t *testing.T) { testModes(t, "l2tunnel", "transparent") }

func testModes(t *testing.T, modes ...string) {
	t.Helper()
	needs(t, ownCluster("E2E_DATA_DIR names a cluster of one mode; `mullion net test` tests it"))

	sideBySide(t)
	for i, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			sideBySide(t)
			c := newCluster(t)
			c.bringUp(t, fmt.Sprintf(modeYAML, mode, i, 64*i))
			c.netTest(t, mode)
		})
	}
}

// network is netTest of the cluster that all scripts share, after everything that carries Services out has been
// restarted, so that a Service that was not restored shows.
func (c cluster) network(t *testing.T) {
	t.Helper()
	testrun.Once(t, testrun.Follows)
	c.netTest(t, "l2bridge")
}

// netTest tests the flows of the network and reports those that did not go as documented.
func (c cluster) netTest(t *testing.T, mode string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.bin, "mullion"), "net", "test", "--mode", mode, "-o",
		"json")
	cmd.Env = c.env()
	var told strings.Builder
	cmd.Stderr = &told
	out, runErr := cmd.Output()
	var report struct {
		Results []struct{ Flow, Protocol, Expected, Seen, Outcome string }
	}

	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("mullion net test: %v, %v\n%s\n%s", runErr, err, out, told.String())
	}

	good, other := 0, 0
	for _, r := range report.Results {
		switch r.Outcome {
		case "as documented":
			good++
		case "skipped":
			t.Errorf("%s, %s: skipped: %s", r.Flow, r.Protocol, r.Seen) // the tests' clusters have all that flows need
		default:
			other++
			t.Errorf("%s, %s: expected %s, seen %s", r.Flow, r.Protocol, r.Expected, r.Seen)
		}
	}

	if (other == 0) != (runErr == nil) {
		t.Errorf("mullion net test ends with %v; %d flows were not as documented", runErr, other)
	}
	if good < 30 {
		t.Errorf("only %d flows were carried out", good)
	}

	t.Logf("mode %s: %d flows as documented, %d not", mode, good, other)
	if other > 0 {
		logs(t, c)
	}
}
