package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// onlyAdds reports whether want is have with more nodes after those that it has, with a registry, or with other
// external nodes. A machine that joined a cluster keeps what it joined with. In mode transparent the nodes share the
// pods' addresses, so they cannot be more.
func onlyAdds(have, want spec.Cluster) (bool, error) {
	more := len(want.Nodes) - len(have.Nodes)
	others := !slices.Equal(have.Networking.ExternalNodes, want.Networking.ExternalNodes) ||
		(have.Registry == nil && want.Registry != nil)
	if have.Join != nil || more < 0 || (more == 0 && !others) ||
		(more > 0 && have.Networking.Mode == spec.ModeTransparent) {
		return false, nil
	}
	want.Nodes = want.Nodes[:len(have.Nodes)]
	want.Networking.ExternalNodes = have.Networking.ExternalNodes
	if have.Registry == nil {
		want.Registry = nil
	}
	differ, err := differences(have, want)
	return len(differ) == 0, err
}

// ErrNotGrown says that a cluster that was to have more is as it was.
var ErrNotGrown = errors.New("the cluster goes on as it was")

// grow gives a cluster more nodes, a registry, or other external nodes. If what is new does not start, the cluster is
// as it was.
func grow(ctx context.Context, o UpOptions, held *hold.Held, have, want spec.Cluster) error {
	client := supervisor.NewClient(o.Paths.Socket())
	_, statusErr := client.Status(ctx)
	stands, err := standsStill(o.Paths, have, want)
	if err != nil {
		return err
	}
	if statusErr != nil || !stands {
		return growAnew(ctx, o, have, want)
	}

	if err := o.supervised(ctx, held); err != nil { // what new nodes wait for is there
		return err
	}
	text, err := json.Marshal(want)
	if err != nil {
		return err
	}

	answer := make(chan error, 1)
	go func() { answer <- client.Grow(ctx, text) }()
	err = follow(ctx, client, o, answer)
	refusal, refused := errors.AsType[*unixsocket.StatusError](err)
	_, answered := errors.AsType[*supervisor.UnitsError](err)
	switch {
	case err == nil:
		return nil
	case refused && refusal.Code == http.StatusNotFound: // it is of an older version
		return growAnew(ctx, o, have, want)
	case ctx.Err() != nil:
		return fmt.Errorf("wait for what is new: %w", ctx.Err())
	case !answered: // it has ended: whoever starts it again starts the new nodes too
		return supervisorEnded(o.Paths)
	case stopping(ctx, client):
		return fmt.Errorf("wait for what is new: %w", ErrTakenDown)
	}
	return fmt.Errorf("%w: %w: %w", ErrNotGrown, ErrFailed, err)
}

// stopping reports whether a supervisor ends, or has ended.
func stopping(ctx context.Context, client *supervisor.Client) bool {
	status, err := client.Status(ctx)
	return err != nil || status.Phase == supervisor.PhaseStopping
}

// follow reports how it goes until the supervisor has answered.
func follow(ctx context.Context, client *supervisor.Client, o UpOptions, answer <-chan error) error {
	began := time.Now()
	for {
		select {
		case err := <-answer:
			return err
		case <-time.After(proc.Pace(pollInterval, time.Since(began))):
		}

		if status, err := client.Status(ctx); err == nil {
			o.Progress(Progress{Elapsed: time.Since(began), Units: status.Units})
		}
	}
}

// standsStill reports whether the network that everything stands on is the same for both: then nodes are added to what
// runs.
func standsStill(paths layout.Paths, have, want spec.Cluster) (bool, error) {
	before, err := NewPlan(have, paths)
	if err != nil {
		return false, err
	}
	after, err := NewPlan(want, paths)
	if err != nil {
		return false, err
	}
	return before.Endpoint == after.Endpoint &&
		slices.Equal(have.Networking.ExternalNodes, want.Networking.ExternalNodes), nil
}

// grower makes the cluster of this process's supervisor larger.
type grower struct {
	options SuperviseOptions
	// power looks after nodes whose hosts can ask for their end.
	power func(nodes []spec.Node)

	// What follows is of the cluster as it is. The supervisor calls grow once at a time.
	spec     spec.Cluster
	composer *composer
}

// grow returns the units of nodes that a specification has besides, and writes it down.
func (g *grower) grow(ctx context.Context, want []byte) (supervisor.Growth, error) {
	var c spec.Cluster
	if err := json.Unmarshal(want, &c); err != nil {
		return supervisor.Growth{}, fmt.Errorf("read the larger cluster's specification: %w", err)
	}
	if err := c.Validate(); err != nil {
		return supervisor.Growth{}, err
	}
	c = c.WithDefaults()
	if adds, err := onlyAdds(g.spec, c); err != nil || !adds {
		return supervisor.Growth{}, errors.Join(err, errors.New("another command has changed the cluster meanwhile"))
	}

	paths := g.options.Paths
	plan, err := NewPlan(c, paths)
	if err != nil {
		return supervisor.Growth{}, err
	}
	composer, units, err := g.composer.grown(plan)
	if err != nil {
		return supervisor.Growth{}, err
	}

	if err := g.divide(ctx, c.Nodes); err != nil {
		return supervisor.Growth{}, err
	}
	if err := paths.SaveSpec(c); err != nil { // whoever is killed now leaves a cluster that is to have them
		return supervisor.Growth{}, err
	}
	added := c.Nodes[len(g.spec.Nodes):]
	return supervisor.Growth{
		Units: units,
		Ended: func(ctx context.Context, err error) error {
			if err != nil {
				return errors.Join(paths.SaveSpec(g.spec), g.divide(ctx, g.spec.Nodes), forget(ctx, paths, g.spec, c))
			}
			g.spec, g.composer = c, composer
			g.power(added)
			return nil
		},
	}, nil
}

// divide gives nodes their parts of the machine.
func (g *grower) divide(ctx context.Context, nodes []spec.Node) error {
	paths, log := g.options.Paths, g.options.Log
	most, err := machineLimits(len(nodes))
	if err != nil {
		return err
	}
	if err := most.apply(paths, nodes, log); err != nil {
		return err
	}
	weigh(ctx, paths, nodes, log)

	return nil
}

// growAnew is grow for a cluster whose network changes with it: its supervisor ends, and one with all nodes takes over
// what is there. The API server does not answer meanwhile, which takes some seconds; pods go on.
func growAnew(ctx context.Context, o UpOptions, have, want spec.Cluster) error {
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
		return errors.Join(err, fmt.Errorf("bring the cluster back as it was: %w", backErr))
	}
	return errors.Join(fmt.Errorf("%w: %w", ErrNotGrown, err),
		forget(ctx, o.Paths, have, want))
}

// stillHas returns an error if a cluster that is up lacks what a command wants of it: another command was making it
// larger meanwhile, and it goes on as it was before.
func stillHas(paths layout.Paths, want spec.Cluster) error {
	now, err := paths.LoadSpec()
	if err != nil {
		return err
	}
	lacks, err := onlyAdds(now, want)
	if err != nil || !lacks {
		return err
	}
	return fmt.Errorf("%w: what another command was adding did not start", ErrNotGrown)
}

// forget removes what the API has of a larger cluster that did not start.
func forget(ctx context.Context, paths layout.Paths, have, want spec.Cluster) error {
	client, err := Client(paths)
	if err != nil {
		return err
	}
	return forgetIn(ctx, client, have, want)
}

// forgetIn removes the node objects of hosts that did not start, and the note of a registry that did not.
func forgetIn(ctx context.Context, client kubeclient.Interface, have, want spec.Cluster) error {
	if have.Registry == nil && want.Registry != nil {
		if err := bootstrap.ForgetRegistry(ctx, client); err != nil {
			return err
		}
	}

	for _, n := range want.Nodes[len(have.Nodes):] {
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
