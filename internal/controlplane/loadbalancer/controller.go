package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/process/component"
)

const (
	// repairEvery is how often routes are compared with the kernel when nothing changes.
	repairEvery = 30 * time.Second
	// gather is the time during which changes are collected before routes are set once.
	gather = 50 * time.Millisecond
)

// Config is what the controller needs to know of the cluster.
type Config struct {
	// Client returns a client for the cluster's API, once it answers.
	Client func() (kubeclient.Interface, error)
	// Pools are the ranges of addresses for Services, Underlays the networks of the nodes; of each one, or one of each
	// family. Those that are not valid are left out.
	Pools, Underlays []netip.Prefix
	// Serves reports whether nodes with an operating system have a kube-proxy.
	Serves func(os string) bool
	// SetRoutes makes these the routes to Services, and removes others.
	SetRoutes func(ctx context.Context, routes []Route) error
	// RoutesOnly leaves the choice of addresses to another machine's controller; this one only makes routes for them.
	RoutesOnly bool
	// Version is the API server's, "v1.20.15"; "" is the version that Mullion comes with.
	Version string
	Log     *slog.Logger
}

// Controller is the component.
type Controller struct {
	cfg    Config
	wake   chan struct{}
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// New returns the component, not started.
func New(cfg Config) *Controller {
	cfg.Pools, cfg.Underlays = valid(cfg.Pools), valid(cfg.Underlays)
	return &Controller{cfg: cfg, wake: make(chan struct{}, 1)}
}

func valid(all []netip.Prefix) (kept []netip.Prefix) {
	for _, p := range all {
		if p.IsValid() {
			kept = append(kept, p.Masked())
		}
	}
	return kept
}

// ID implements component.Component.
func (c *Controller) ID() component.ID { return component.Sole("load-balancer") }

// Start returns when the existing objects have been read; addresses and routes follow later.
func (c *Controller) Start(ctx context.Context) error {
	client, err := c.cfg.Client()
	if err != nil {
		return err
	}

	services := client.CoreV1().Services("").Informer(0)
	nodes := client.CoreV1().Nodes().Informer(0)
	slices, err := c.slices(client)
	if err != nil {
		return err
	}
	all := []cache.SharedIndexInformer{services, nodes, slices}
	var synced []cache.InformerSynced
	for _, informer := range all {
		registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { c.changed() },
			UpdateFunc: func(_, _ any) { c.changed() },
			DeleteFunc: func(any) { c.changed() },
		})
		if err != nil {
			return err
		}
		synced = append(synced, registered.HasSynced)
	}

	var addresses *balancer
	if !c.cfg.RoutesOnly {
		if addresses, err = newBalancer(c.cfg, client, services); err != nil {
			return fmt.Errorf("watch services: %w", err)
		}
	}

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	for _, informer := range all {
		c.done.Go(func() { informer.RunWithContext(run) })
	}

	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		cancel()
		c.done.Wait()
		return errors.Join(errors.New("read services, nodes and endpoint slices: the lists did not arrive"), ctx.Err())
	}
	if addresses != nil {
		c.done.Go(func() { addresses.run(run) })
	}

	c.done.Go(func() {
		c.follow(run, func() state {
			return state{
				services: kubeclient.Stored[*corev1.Service](services.GetStore()),
				slices:   kubeclient.Stored[*discoveryv1.EndpointSlice](slices.GetStore()),
				nodes:    kubeclient.Stored[*corev1.Node](nodes.GetStore()),
			}
		})
	})

	return nil
}

// slices returns the informer of EndpointSlices, which makes them of Endpoints where the API has none of v1.
func (c *Controller) slices(client kubeclient.Interface) (cache.SharedIndexInformer, error) {
	if version.MinorOf(c.cfg.Version) >= version.EndpointSlices {
		return client.DiscoveryV1().EndpointSlices("").Informer(0), nil
	}
	endpoints := client.CoreV1().Endpoints("").Informer(0)
	return endpoints, endpoints.SetTransform(sliceOf)
}

// Stop ends the watch; addresses and routes stay.
func (c *Controller) Stop(context.Context) error {
	if c.cancel != nil {
		c.cancel()
		c.done.Wait()
	}
	return nil
}

func (c *Controller) changed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// follow sets the routes whenever something changed, and now and then.
func (c *Controller) follow(ctx context.Context, read func() state) {
	repair := time.NewTicker(repairEvery)
	defer repair.Stop()

	for {
		if err := c.cfg.SetRoutes(ctx, c.cfg.routes(read())); err != nil && ctx.Err() == nil {
			c.cfg.Log.Error("set the routes to load balancers' addresses", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-repair.C:
		}

		settle := time.NewTimer(gather)
		select {
		case <-ctx.Done():
			settle.Stop()
			return
		case <-settle.C:
		}
	}
}
