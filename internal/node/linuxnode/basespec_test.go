package linuxnode

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/google/go-cmp/cmp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// TestContainerSpec: the file has containerd's own default, but for what a pod says itself, and the bound of terminals.
func TestContainerSpec(t *testing.T) {
	c := sample(t)
	if err := c.writeHost(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.Host().Path(baseSpec))
	if err != nil {
		t.Fatal(err)
	}

	var got specs.Spec
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want, err := oci.GenerateSpecWithPlatform(namespaces.WithNamespace(t.Context(), "k8s.io"), nil, "linux/amd64",
		&containers.Container{})
	if err != nil {
		t.Fatal(err)
	}

	i := slices.IndexFunc(want.Mounts, func(m specs.Mount) bool { return m.Destination == "/dev/pts" })
	want.Mounts[i].Options = append(want.Mounts[i].Options, "max=64")
	want.Process.Rlimits = nil // 1,024 open files would be few: a container has containerd's
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
