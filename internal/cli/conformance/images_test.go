package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/conformance/images"
	"mullion.dev/mullion/internal/spec"
)

// TestRegistryIsOnWindowsNodesAlone holds that a Linux node gets no folder of agnhost's registry: there the tests run
// it in a container.
func TestRegistryIsOnWindowsNodesAlone(t *testing.T) {
	c := spec.Cluster{Nodes: []spec.Node{{Name: "linux-1", OS: spec.Linux}, {Name: "win-1"}, {Name: "win-2"}}}
	want := []images.Host{
		{Name: "win-1", Root: "/data/nodes/win-1/prefix", Drive: "Files"},
		{Name: "win-2", Root: "/data/nodes/win-2/prefix", Drive: "Files"},
	}
	if diff := cmp.Diff(want, registryHosts(layout.Paths{Data: "/data"}, c)); diff != "" {
		t.Error(diff)
	}
}
