package linuxnode

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
)

// mostTerminals bounds a container's terminals, as those of Windows containers are bounded
// (internal/runtime/engine/spec.go): all containers of the machine share one stock of some 3,000. People run programs
// in Linux containers that open many, so each has more.
const mostTerminals = "max=64"

// containerSpec returns what containerd makes each container's specification from: its own default, with a bound of
// terminals.
func containerSpec(ctx context.Context) ([]byte, error) {
	ctx = namespaces.WithNamespace(ctx, "k8s.io")
	spec, err := oci.GenerateSpecWithPlatform(ctx, nil, "linux/amd64", &containers.Container{})
	if err != nil {
		return nil, fmt.Errorf("make the specification of containers: %w", err)
	}

	// As containerd does where it is given no specification
	// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/opts/spec_opts.go,
	// WithoutDefaultSecuritySettings): these come from the pod.
	spec.Process.ApparmorProfile = ""
	spec.Process.Rlimits = nil
	spec.Linux.Seccomp = nil
	for i, m := range spec.Mounts {
		if m.Type == "devpts" {
			spec.Mounts[i].Options = append(m.Options, mostTerminals)
		}
	}

	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode the specification of containers: %w", err)
	}
	return text, nil
}
