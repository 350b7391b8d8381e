package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// onlyAdds reports whether want is have with more nodes after those that it has, or with other external nodes. A
// machine that joined a cluster keeps what it joined with. In mode transparent the nodes share the pods' addresses, so
// they cannot be more.
func onlyAdds(have, want spec.Cluster) (bool, error) {
	more := len(want.Nodes) - len(have.Nodes)
	others := !slices.Equal(have.Networking.ExternalNodes, want.Networking.ExternalNodes)
	if have.Join != nil || more < 0 || (more == 0 && !others) ||
		(more > 0 && have.Networking.Mode == spec.ModeTransparent) {
		return false, nil
	}
	want.Nodes = want.Nodes[:len(have.Nodes)]
	want.Networking.ExternalNodes = have.Networking.ExternalNodes
	differ, err := differences(have, want)
	return len(differ) == 0, err
}

// ErrNotGrown says that a cluster that was to have more nodes is as it was.
var ErrNotGrown = errors.New("the cluster goes on without new nodes")

// grow gives a cluster more nodes, or other external ones: its supervisor ends, and one with all nodes takes over what
// is there. The API server does not answer meanwhile, which takes some seconds; pods go on. If a new node does not
// start, the cluster is brought back as it was.
func grow(ctx context.Context, o UpOptions, have, want spec.Cluster) error {
	if err := stopSupervisor(ctx, o.Paths); err != nil {
		return err
	}
	err := superviseAnew(ctx, o, want)
	if !errors.Is(err, ErrFailed) {
		return err
	}

	ctx, held, holdErr := hold.Take(ctx, o.Paths.Run())
	if holdErr != nil {
		return errors.Join(err, busy(holdErr))
	}
	defer held.Release()
	if now, readErr := o.Paths.LoadSpec(); readErr == nil {
		if differ, _ := differences(now, want); len(differ) > 0 {
			return fmt.Errorf("%w; another command has changed the cluster meanwhile", err)
		}
	}

	if backErr := superviseAnew(ctx, o, have); backErr != nil {
		return errors.Join(err, fmt.Errorf("bring the cluster back without new nodes: %w", backErr))
	}
	return errors.Join(fmt.Errorf("%w: %w", ErrNotGrown, err),
		forget(ctx, o.Paths, want.Nodes[len(have.Nodes):]))
}

// forget removes the node objects of hosts that did not start.
func forget(ctx context.Context, paths layout.Paths, nodes []spec.Node) error {
	client, err := Client(paths)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		err := client.CoreV1().Nodes().Delete(ctx, n.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove node %s from the cluster: %w", n.Name, err)
		}
	}
	return nil
}

// superviseAnew gives a cluster whose supervisor has ended a specification, and returns when all parts are ready.
func superviseAnew(ctx context.Context, o UpOptions, c spec.Cluster) error {
	ctx, held, err := hold.Take(ctx, o.Paths.Run())
	if err != nil {
		return busy(err)
	}
	defer held.Release()
	if !o.folder.isThere() {
		return fmt.Errorf("start the supervisor: %w", ErrTakenDown)
	}

	if err := o.Paths.SaveSpec(c); err != nil {
		return err
	}
	ended, err := startSupervisor(ctx, o, held)
	if err != nil {
		return err
	}
	return wait(ctx, supervisor.NewClient(o.Paths.Socket()), o, ended)
}
