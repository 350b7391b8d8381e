package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	"k8s.io/component-base/metrics/prometheus/controllers"
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
	Client func() (kubernetes.Interface, error)
	// Cluster is the cluster's name.
	Cluster string
	// Pools are the ranges of addresses for Services, Underlays the networks of the nodes; of each one, or one of each
	// family. Those that are not valid are left out.
	Pools, Underlays []netip.Prefix
	// Serves reports whether nodes with an operating system have a kube-proxy.
	Serves func(os string) bool
	// SetRoutes makes these the routes to Services, and removes others.
	SetRoutes func(ctx context.Context, routes []Route) error
	// RoutesOnly leaves the choice of addresses to another machine's controller; this one only makes routes for them.
	RoutesOnly bool
	Log        *slog.Logger
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

// Name is the component's name.
func (c *Controller) Name() string { return "load-balancer" }

// Start returns when the existing objects have been read; addresses and routes follow later.
func (c *Controller) Start(ctx context.Context) error {
	client, err := c.cfg.Client()
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	core, discovery := factory.Core().V1(), factory.Discovery().V1()
	services, nodes, endpoints := core.Services(), core.Nodes(), discovery.EndpointSlices()
	var synced []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{services.Informer(), nodes.Informer(), endpoints.Informer()} {
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
	var upstream *servicecontroller.Controller
	if !c.cfg.RoutesOnly {
		upstream, err = servicecontroller.New(newCloud(c.cfg.Pools, services.Lister()), client, services, nodes,
			c.cfg.Cluster, nil)
		if err != nil {
			return fmt.Errorf("make the service controller: %w", err)
		}
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	factory.Start(run.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		cancel()
		factory.Shutdown()
		return errors.Join(errors.New("read services, nodes and endpoint slices: the lists did not arrive"), ctx.Err())
	}
	c.done.Go(func() {
		<-run.Done()
		factory.Shutdown()
	})
	if upstream != nil { // one worker suffices: a call waits for nothing but the API
		c.done.Go(func() { upstream.Run(run, 1, controllers.NewControllerManagerMetrics("mullion")) })
	}
	c.done.Go(func() {
		c.follow(run, func() (s state, err error) {
			var errs [3]error
			s.services, errs[0] = services.Lister().List(labels.Everything())
			s.slices, errs[1] = endpoints.Lister().List(labels.Everything())
			s.nodes, errs[2] = nodes.Lister().List(labels.Everything())
			return s, errors.Join(errs[:]...)
		})
	})
	return nil
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
func (c *Controller) follow(ctx context.Context, read func() (state, error)) {
	repair := time.NewTicker(repairEvery)
	defer repair.Stop()
	for {
		s, err := read()
		if err == nil {
			err = c.cfg.SetRoutes(ctx, c.cfg.routes(s))
		}
		if err != nil && ctx.Err() == nil {
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
