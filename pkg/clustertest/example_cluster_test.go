//go:build cluster

package clustertest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"mullion.dev/mullion/pkg/clustertest"
)

// TestPodsOnWindows is what a test with a cluster looks like. It takes a minute, root and kubectl; MULLION names the
// program, if it is not in PATH.
func TestPodsOnWindows(t *testing.T) {
	options := []clustertest.Option{clustertest.Windows("ltsc2022"), clustertest.Logs(os.Getenv("MULLION_LOGS"))}
	program := "mullion"
	if named := os.Getenv("MULLION"); named != "" {
		program = named
		options = append(options, clustertest.Program(named))
	}
	c := clustertest.New(t, options...)

	nodes, err := c.Provider().ListNodes(c.Name())
	if err != nil || len(nodes) != 2 {
		t.Fatalf("the nodes are %v (%v)", nodes, err)
	}
	out, err := exec.CommandContext(t.Context(), program, "kubectl", "--kubeconfig="+c.KubeConfigPath(),
		"get", "nodes", "-l", "kubernetes.io/os=windows", "-o", "name").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "node/win-1" {
		t.Errorf("the API says %q (%v)", out, err)
	}
}
