package linuxrun

import (
	"slices"
	"testing"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// What Linux counts for a user it counts for the machine's root too, so a command has limits of its own.
func TestSpecLimits(t *testing.T) {
	r, c := &Runner{}, Command{ID: "a", Args: []string{"/bin/sh"}}
	ctx := namespaces.WithNamespace(t.Context(), "test")
	made, err := oci.GenerateSpecWithPlatform(ctx, nil, "linux/amd64", &containers.Container{ID: c.ID},
		r.spec(c, &specs.User{})...)
	if err != nil {
		t.Fatal(err)
	}

	limits := map[string]uint64{}
	for _, l := range made.Process.Rlimits {
		if limits[l.Type] = l.Hard; l.Soft != l.Hard {
			t.Errorf("%+v", l)
		}
	}

	for name, want := range map[string]uint64{"RLIMIT_CORE": 1, "RLIMIT_SIGPENDING": mostTasks, "RLIMIT_MSGQUEUE": 0} {
		if got, ok := limits[name]; !ok || got != want {
			t.Errorf("%s is %d, %t", name, got, ok)
		}
	}

	if !slices.ContainsFunc(made.Mounts, func(m specs.Mount) bool {
		return m.Destination == "/dev/pts" && slices.Contains(m.Options, mostTerminals)
	}) {
		t.Errorf("terminals are not limited: %+v", made.Mounts)
	}
}
