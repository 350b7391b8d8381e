package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/hostpower"
)

// NodePower switches the hosts of a cluster's nodes off and on. The cluster is up.
type NodePower struct {
	paths  layout.Paths
	client *supervisor.Client
}

// NewNodePower returns the switch of a cluster's hosts. The error is os.ErrNotExist where there is no cluster.
func NewNodePower(paths layout.Paths) (*NodePower, error) {
	if _, err := paths.LoadSpec(); err != nil {
		return nil, err
	}
	return &NodePower{paths: paths, client: supervisor.NewClient(paths.Socket())}, nil
}

// ErrNotUp says that a cluster's supervisor does not run.
var ErrNotUp = errors.New("the cluster is not up")

// endPatience bounds the end of a host's containers.
const endPatience = 30 * time.Second

// Off ends all that runs on a node's host, containers too, at once, as a machine does that loses its power. Its disks
// stay. The node is not ready until On. To switch off what is off does nothing.
func (n *NodePower) Off(ctx context.Context, node string) error {
	units, err := n.units(ctx, node)
	if err != nil {
		return err
	}
	if err := n.client.StopUnits(ctx, units); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	if err := KillCgroups(ctx, n.paths.CgroupParent()+"/"+node); err != nil {
		return fmt.Errorf("end the containers of node %s: %w", node, err)
	}
	return nil
}

// On starts a node's host, and returns when its node is ready. Pods that were there come back as their restart policies
// say. On what is on it starts only the services that somebody has stopped by hand.
func (n *NodePower) On(ctx context.Context, node string) error {
	units, err := n.units(ctx, node)
	if err != nil {
		return err
	}
	if err := n.limit(node); err != nil {
		return fmt.Errorf("limit what node %s can have: %w", node, err)
	}
	if err := n.client.StartUnits(ctx, units); err != nil {
		return &NodeStartError{Node: node, Err: err}
	}
	return n.startHalted(ctx, node)
}

// limit sets the limits of a node's cgroup again, which has gone with what was in it. What a kernel does not count, the
// supervisor has said in its log.
func (n *NodePower) limit(node string) error {
	c, err := n.paths.LoadSpec()
	if err != nil {
		return err
	}
	found, err := findNode(c, node)
	if err != nil {
		return err
	}

	most, err := machineLimits(len(c.Nodes))
	if err != nil {
		return err
	}
	if err := weighNode(n.paths, node); err != nil && !errors.Is(err, cgroup.ErrNoController) {
		return err
	}
	return most.applyTo(n.paths, found, slog.New(slog.DiscardHandler))
}

// startHalted starts the services of a host that somebody has stopped by hand.
func (n *NodePower) startHalted(ctx context.Context, node string) error {
	status, err := n.client.Health(ctx)
	if err != nil {
		return err
	}
	for _, u := range status.Units {
		if u.ID.Node != node || u.Reason != component.Halted {
			continue
		}
		if err := n.client.Restart(ctx, u.ID); err != nil {
			return &NodeStartError{Node: node, Err: err}
		}
	}
	return nil
}

// switchAllOn starts the hosts that were switched off.
func switchAllOn(ctx context.Context, client *supervisor.Client) error {
	status, err := client.Status(ctx)
	if err != nil {
		return err
	}

	var off []component.ID
	for _, u := range status.Units {
		if u.State == component.Stopped {
			off = append(off, u.ID)
		}
	}
	if len(off) == 0 {
		return nil
	}

	return client.StartUnits(ctx, off)
}

// NodeStartError says that a node's host does not start. It is off then.
type NodeStartError struct {
	Node string
	Err  error
}

func (e *NodeStartError) Error() string { return fmt.Sprintf("start node %s: %v", e.Node, e.Err) }

// Unwrap gives the cause.
func (e *NodeStartError) Unwrap() error { return e.Err }

// units returns the units of a node's host. The host's cable is not among them.
func (n *NodePower) units(ctx context.Context, node string) ([]component.ID, error) {
	c, err := n.paths.LoadSpec()
	if err != nil {
		return nil, err
	}
	if _, err := findNode(c, node); err != nil {
		return nil, err
	}

	status, err := n.client.Status(ctx)
	if err != nil && !locked(n.paths) {
		return nil, ErrNotUp
	}
	if err != nil {
		return nil, err
	}

	if status.Phase != supervisor.PhaseReady {
		return nil, fmt.Errorf("%w: it is %s", ErrNotUp, status.Phase)
	}
	var units []component.ID
	for _, u := range status.Units {
		if u.ID.Node == node && u.ID.Part != "network" {
			units = append(units, u.ID)
		}
	}

	return units, nil
}

// powerInterval is how often hosts are looked at for a program's request to end them.
const powerInterval = time.Second

// watchPower does what the programs of Windows hosts ask for by hostpower, until ctx ends.
func watchPower(ctx context.Context, paths layout.Paths, nodes []spec.Node, log *slog.Logger) {
	power := NodePower{paths: paths, client: supervisor.NewClient(paths.Socket())}
	var watched sync.WaitGroup
	for _, n := range nodes {
		if n.OS != spec.Windows {
			continue
		}

		watched.Go(func() {
			drive, told := winnode.Drive(paths.Node(n.Name)), ""
			tick := time.NewTicker(powerInterval)
			defer tick.Stop()

			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}

				err := power.obey(ctx, n.Name, drive, log)
				if err != nil && err.Error() != told && ctx.Err() == nil {
					log.Error("a request of a host's program", "node", n.Name, "error", err)
					told = err.Error()
				}
			}
		})
	}

	watched.Wait()
}

// shutdownPatience bounds the end of a host's services. kubelet.exe asks for the time of its shutdownGracePeriod.
const shutdownPatience = time.Hour

// shutdownTail is how long a Windows host still runs when its services have ended. Windows takes some seconds until it
// is off, in which kubelet.exe, whose service ends when the shutdownGracePeriod is over, finishes what it has begun.
const shutdownTail = 10 * time.Second

// endServices tells the services of a Windows host that it shuts down, and waits until they have ended or had their
// time. kubelet.exe ends the node's pods then, if its configuration has shutdownGracePeriod.
func (n *NodePower) endServices(ctx context.Context, node string) error {
	host, err := LoadHost(n.paths, node)
	if err != nil {
		return err
	}
	if _, err := host.Output(ctx, nil, nil, wine.RunProgram,
		"--end-services", fmt.Sprint(shutdownPatience.Milliseconds())); err != nil {
		return err
	}

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(shutdownTail):
		return nil
	}
}

// obey does what is asked for on a host's drive, if it is time.
func (n *NodePower) obey(ctx context.Context, node, drive string, log *slog.Logger) error {
	r, asked, err := hostpower.Read(drive)
	if err != nil || !asked || time.Now().Before(r.At) {
		return err
	}
	log.Info("a program of the host ends it", "node", node, "restart", r.Restart)
	if err := n.endServices(ctx, node); err != nil {
		log.Warn("the services of the host were not told of its end", "node", node, "error", err)
	}

	// After that, so that a supervisor that is killed meanwhile does it anew; before the rest, else the host would
	// restart for ever.
	if err := hostpower.Clear(drive); err != nil {
		return err
	}
	off := func(ctx context.Context) error { return n.Off(ctx, node) }
	if err := whenUp(ctx, off); err != nil || !r.Restart {
		return err
	}

	return whenUp(ctx, func(ctx context.Context) error { return n.On(ctx, node) })
}

// whenUp does what can be done only while the cluster is up, as soon as it is: a cluster that becomes larger starts
// parts meanwhile.
func whenUp(ctx context.Context, do func(context.Context) error) error {
	tick := time.NewTicker(powerInterval)
	defer tick.Stop()

	for {
		err := do(ctx)
		if !errors.Is(err, ErrNotUp) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-tick.C:
		}
	}
}
