package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/windows/winver"
)

// Config is what the components of this package depend on.
type Config struct {
	// Kubeconfig is the file of a user with all rights.
	Kubeconfig string
	// Version is the API server's, "v1.20.15"; "" is the version that Mullion comes with.
	Version string
	// ApproverKubeconfig is the file of pki.ServingApprover.
	ApproverKubeconfig string
	// TokenKubeconfig is the file that gets a bootstrap token.
	TokenKubeconfig string
	// Server is the API server's URL for nodes, CAFile its authority's certificate.
	Server string
	CAFile string
	// Dial makes connections to the API server; nil is net/http's default.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// DNS is the cluster's DNS server.
	DNS DNS
	// Machines is what other machines need to join.
	Machines Machines
	// Windows are the Windows versions of the cluster's nodes, each of which gets a RuntimeClass.
	Windows []winver.Build
	// Addresses and Ports are the cluster's own, which no Service and no pod may take.
	Addresses OwnAddresses
	Ports     []int
	// Policy is for kubelets' serving certificates.
	Policy ServingPolicy
	// Log gets what the approver refuses.
	Log *slog.Logger
}

// applyEvery is the pause before another try: namespaces appear a moment after the API server is ready.
const applyEvery = 100 * time.Millisecond

// Client returns a client for a kubeconfig file, without a limit on the rate of requests.
func Client(kubeconfig string, dial func(ctx context.Context, network, address string) (net.Conn,
	error),
) (*kubeclient.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %q: %w", kubeconfig, err)
	}

	config.Dial = dial
	config.QPS = -1
	config.UserAgent = "mullion"
	config.WarningHandler = rest.NoWarnings{}
	client, err := kubeclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client of %q: %w", kubeconfig, err)
	}

	return client, nil
}

// Objects is the component that puts the objects and the bootstrap token in place.
type Objects struct {
	name   string
	config Config
}

// NewObjects returns the component, not started.
func NewObjects(name string, config Config) *Objects { return &Objects{name: name, config: config} }

// ID implements component.Component.
func (o *Objects) ID() component.ID { return component.Sole(o.name) }

// Start applies everything, again and again until it succeeds or ctx is over.
func (o *Objects) Start(ctx context.Context) error {
	client, err := Client(o.config.Kubeconfig, o.config.Dial)
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(o.config.CAFile)
	if err != nil {
		return fmt.Errorf("read authority: %w", err)
	}

	tick := time.NewTicker(applyEvery)
	defer tick.Stop()

	for {
		err := o.apply(ctx, client, ca)
		if err == nil {
			err = applyClasses(ctx, client, o.config.Windows)
		}
		if err == nil {
			_, err = EnsureKubeconfig(ctx, client, o.config.TokenKubeconfig, o.config.Server, ca)
		}
		if err == nil {
			return nil
		}

		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-tick.C:
		}
	}
}

// Stop leaves the objects: they are the cluster's state.
func (o *Objects) Stop(context.Context) error { return nil }

// Approver is the component that approves kubelets' serving certificates.
type Approver struct {
	name   string
	config Config
	cancel context.CancelFunc
	done   chan struct{}
}

// NewApprover returns the component, not started.
func NewApprover(name string, config Config) *Approver { return &Approver{name: name, config: config} }

// ID implements component.Component.
func (a *Approver) ID() component.ID { return component.Sole(a.name) }

// Start begins to watch; a watch that breaks is taken up again by itself.
func (a *Approver) Start(ctx context.Context) error {
	client, err := Client(a.config.ApproverKubeconfig, a.config.Dial)
	if err != nil {
		return err
	}
	log := a.config.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}

	worker := newApprover(client, a.config.Policy, log)
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.cancel, a.done = cancel, make(chan struct{})
	go func() {
		defer close(a.done)
		worker.run(runCtx)
	}()

	return nil
}

// Stop ends the watch.
func (a *Approver) Stop(ctx context.Context) error {
	if a.cancel == nil {
		return nil
	}
	a.cancel()
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %q: %w", a.name, ctx.Err())
	}
}
