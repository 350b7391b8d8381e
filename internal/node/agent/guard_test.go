package agent

import (
	"strconv"
	"testing"

	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/runtime/engine"
)

// The table of what bounds a pod says what the node's network does.
func TestBoundOfConnections(t *testing.T) {
	if want := strconv.Itoa(dataplane.MostOfPod); engine.MostConnections != want {
		t.Errorf("the table says %s connections, and the network lets a pod have %s", engine.MostConnections, want)
	}
}
