//go:build cluster

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mullion.dev/mullion/internal/windows/winver"
)

// TestFieldBuilds brings up a cluster with a Windows node of each build that Mullion knows, the oldest first, and runs
// testdata/builds in it. One node reserves memory.
func TestFieldBuilds(t *testing.T) {
	needs(t)
	c := newCluster(t)
	var spec strings.Builder
	spec.WriteString("apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: mullion-builds\n" +
		"networking: {underlaySubnet: 10.228.0.0/24, podSubnet: 10.229.0.0/16, serviceSubnet: 10.230.0.0/16}\n" +
		"addons: {metricsServer: false, localStorage: false}\nnodes:\n- os: linux\n")

	for _, b := range winver.All() {
		spec.WriteString("- windowsVersion: \"" + b.Name + "\"\n")
		if b.Name == "ltsc2022" {
			spec.WriteString("  systemReserved: {memory: 64Mi}\n  kubeReserved: {memory: 64Mi}\n")
		}
	}

	c.bringUp(t, spec.String())
	c.image(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "builds"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands(),
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "MULLION_DATA_DIR="+c.data, "KUBECONFIG="+c.kubeconfig, "IMAGES="+c.home,
				"PATH="+c.bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
			return nil
		},
	})
}
