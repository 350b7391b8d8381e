package cluster

import "testing"

// What a node without a CNI plugin says is enough there, and nothing that is wrong with it besides.
func TestLacksCNI(t *testing.T) {
	const network = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
	for message, want := range map[string]bool{
		network: true,
		"[" + network + ", CSINode is not yet initialized]":                        true,
		"[" + network + ", failed to initialize CSINode: nodes is forbidden]":      false,
		"[container runtime is down, " + network + "]":                             false,
		network + ": C:\\etc\\cni\\net.d\\10-x.conf: unexpected end of JSON input": false,
		"container runtime status check may not have completed yet":                false,
	} {
		if got := lacksCNI(message); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}
