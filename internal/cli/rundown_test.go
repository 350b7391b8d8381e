package cli

import "testing"

// TestDownOfRunAlone: a flag that says something of a cluster is refused beside --run, and not overlooked.
func TestDownOfRunAlone(t *testing.T) {
	newMachine(t).run("down", "--run", "--kubeconfig", "x").refused(t, ExitUsage,
		"--kubeconfig is for a cluster, and --run leaves that alone", "leave one of them out")
}
