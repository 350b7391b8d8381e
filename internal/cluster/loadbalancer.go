package cluster

import (
	"context"
	"net/netip"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/controlplane/loadbalancer"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/spec"
)

// loadBalancer returns the part that gives Services of type LoadBalancer addresses and routes those addresses over the
// underlay. On a machine that joined it only sets the routes, for the machine itself and for those who reach the
// cluster by way of it.
func (c *composer) loadBalancer() *loadbalancer.Controller {
	n := c.Spec.Networking
	client := func() (kubeclient.Interface, error) { return clientFor(c.Paths.AdminKubeconfig()) }
	if c.Spec.Join != nil {
		client = c.access.client
	}

	return loadbalancer.New(loadbalancer.Config{
		Client:     client,
		RoutesOnly: c.Spec.Join != nil,
		Pools:      []netip.Prefix{n.LoadBalancers(), n.LoadBalancers6()},
		Underlays:  []netip.Prefix{n.Underlay(), n.Underlay6()},
		Serves:     func(os string) bool { return os == spec.Linux || n.Mode.Services() },
		SetRoutes: func(ctx context.Context, routes []loadbalancer.Route) error {
			var all []underlay.Route
			for _, r := range routes {
				all = append(all, underlay.Route{CIDR: netip.PrefixFrom(r.Address, r.Address.BitLen()), Via: r.Via})
			}
			return c.underlay.SetServiceRoutes(ctx, all)
		},
		Version: c.Spec.KubernetesVersion,
		Log:     c.log,
	})
}
