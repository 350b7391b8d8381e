package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
)

// ErrVersion says that the API server's version and that of the machine's kubelets do not go together.
var ErrVersion = errors.New("the cluster's version does not go with this kubelet's")

// checkVersion compares the API server's version with those of the nodes.
func (j *joining) checkVersion(ctx context.Context) error {
	info, err := j.client.ServerVersion(ctx)
	if err != nil {
		return fmt.Errorf("ask the API server for its version: %w", err)
	}
	server, err := utilversion.ParseGeneric(info.GitVersion)
	if err != nil {
		return fmt.Errorf("read the API server's version %q: %w", info.GitVersion, err)
	}

	for _, n := range j.Nodes {
		if err := bundle.Skew("v"+server.String(), cmp.Or(n.KubernetesVersion, version.Kubernetes)); err != nil {
			return fmt.Errorf("compare versions: %w: %w", ErrVersion, err)
		}
	}

	return nil
}
