package localstorage

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// The first and the longest pause between tries after a failure.
const (
	retryFirst = 500 * time.Millisecond
	retryMost  = 30 * time.Second
)

// Controller is the component that provisions volumes and removes them.
type Controller struct {
	cfg    Config
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// New returns the component, not started.
func New(cfg Config) *Controller { return &Controller{cfg: cfg} }

// Name is the component's name.
func (c *Controller) Name() string { return "local-storage" }

// Start begins to watch claims and volumes.
func (c *Controller) Start(ctx context.Context) error {
	client, err := c.cfg.Client()
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), klog.Background()))
	c.cancel = cancel
	upstream := controller.NewProvisionController(run, client, Provisioner, provisioner{c.cfg.Place, c.cfg.Elsewhere},
		// The supervisor runs exactly one.
		controller.LeaderElection(false),
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryMost)),
		controller.FailedProvisionThreshold(0), // never give up
		controller.FailedDeleteThreshold(0),
		// Without it, the object could be deleted before its folder, which would then stay.
		controller.AddFinalizer(true),
	)
	c.done.Go(func() { upstream.Run(run) })
	return nil
}

// Stop ends the watch; volumes stay.
func (c *Controller) Stop(context.Context) error {
	if c.cancel != nil {
		c.cancel()
		c.done.Wait()
	}
	return nil
}
