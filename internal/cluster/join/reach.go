package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/machines/discovery"
)

// joinTokenLife is how long the token that an administrator's join makes is valid; the join removes it at its end.
const joinTokenLife = time.Hour

// dropTimeout bounds the removal of that token.
const dropTimeout = 8 * time.Second

// ErrKubeconfig says that a kubeconfig is not one by which a machine can join.
var ErrKubeconfig = errors.New("the kubeconfig is not one to join by")

// ErrNotAllowed says that the kubeconfig's user may not do what a join takes.
var ErrNotAllowed = errors.New("the kubeconfig's user is neither an administrator nor a bootstrap token")

// reach finds the cluster, by discovery or by a kubeconfig, and makes the client and the token to join with.
func (j *joining) reach(ctx context.Context) error {
	if j.Kubeconfig != "" {
		return j.reachByFile(ctx)
	}
	var err error
	j.Discovery.Waits = func() {
		j.Said("reached the cluster, which has not signed its whereabouts yet: waiting for that")
	}

	if j.found, err = discovery.Find(ctx, j.Discovery); err != nil {
		return err
	}

	j.token = bootstrap.Token{ID: j.Discovery.Token.ID, Secret: j.Discovery.Token.Secret}
	j.Said("found the cluster at " + j.found.Server)
	j.client, err = kubeclient.NewForConfig(joinConfig(&rest.Config{
		Host:            j.found.Server,
		BearerToken:     j.token.String(),
		TLSClientConfig: rest.TLSClientConfig{CAData: j.found.CA},
	}))

	return err
}

func joinConfig(c *rest.Config) *rest.Config {
	c.QPS = -1
	c.UserAgent = "mullion"
	c.Timeout = 30 * time.Second
	c.WarningHandler = rest.NoWarnings{}
	return c
}

func (j *joining) reachByFile(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", j.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig %q: %w: %w", j.Kubeconfig, ErrKubeconfig, err)
	}
	if j.found, err = j.clusterOf(config); err != nil {
		return fmt.Errorf("read kubeconfig %q: %w", j.Kubeconfig, err)
	}

	if j.client, err = kubeclient.NewForConfig(joinConfig(config)); err != nil {
		return fmt.Errorf("read kubeconfig %q: %w: %w", j.Kubeconfig, ErrKubeconfig, err)
	}
	if t, err := discovery.ParseToken(config.BearerToken); err == nil {
		j.token = bootstrap.Token{ID: t.ID, Secret: t.Secret}
		j.Said("read of the cluster at " + j.found.Server)
		return nil
	}

	j.admin = true
	j.token, err = bootstrap.NewToken(ctx, j.client, joinTokenLife, "made by mullion join")
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("make a token to join by: %w: %w", ErrNotAllowed, err)
	case err != nil && !isStatus(err):
		return fmt.Errorf("ask %s: %w: %w", config.Host, discovery.ErrUnreachable, err)
	case err != nil:
		return fmt.Errorf("make a token to join by: %w", err)
	}

	j.Said("reached the cluster at " + config.Host)
	return nil
}

// isStatus says that an API server answered.
func isStatus(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// clusterOf returns where nodes reach the API server of a kubeconfig, and the authority that its certificate is checked
// with.
func (j *joining) clusterOf(config *rest.Config) (discovery.Cluster, error) {
	found := discovery.Cluster{Server: config.Host, CA: config.CAData}
	if len(found.CA) == 0 && config.CAFile != "" {
		var err error
		if found.CA, err = os.ReadFile(config.CAFile); err != nil {
			return found, fmt.Errorf("%w: %w", ErrKubeconfig, err)
		}
	}

	if j.Server != "" {
		found.Server = "https://" + j.Server
	}

	server, err := url.Parse(found.Server)
	switch {
	case err != nil || server.Scheme != "https" || server.Hostname() == "":
		return found, fmt.Errorf("%w: %q is not the URL of an API server", ErrKubeconfig, found.Server)
	case len(found.CA) == 0:
		return found, fmt.Errorf("%w: it names no certificate authority, so nodes could not verify the API server",
			ErrKubeconfig)
	}

	if ip, err := netip.ParseAddr(server.Hostname()); (err == nil && (ip.IsLoopback() ||
		ip.IsUnspecified())) || server.Hostname() == "localhost" {
		return found, fmt.Errorf("%w: nodes do not reach the API server at %s; name it with --server, at an address that nodes reach",
			ErrKubeconfig, net.JoinHostPort(server.Hostname(), server.Port()))
	}

	return found, nil
}

// dropToken removes the token that an administrator's join made.
func (j *joining) dropToken(ctx context.Context) error {
	if !j.admin {
		return nil
	}
	defer interrupt.Finishing(ctx)()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	return bootstrap.RemoveToken(ctx, j.client, j.token.ID)
}
