package loadbalancer

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// retryFull is the pause before another try for a Service that found the pool full.
const retryFull = 10 * time.Second

// takenError says that an address is another Service's, or that all are: it passes when a Service ends.
type takenError struct{ text string }

func (e *takenError) Error() string { return e.text }

// allocator chooses addresses of the pools.
type allocator struct {
	pools    []netip.Prefix // one, or one of each family
	services func() []*corev1.Service

	mu sync.Mutex
	// given are addresses that the Services' status may not show yet.
	given map[types.UID][]netip.Addr
}

func newAllocator(pools []netip.Prefix, services func() []*corev1.Service) *allocator {
	return &allocator{
		pools:    pools,
		services: services,
		given:    map[types.UID][]netip.Addr{},
	}
}

// give gives the Service an address of each of its families, in their order: the one that it asks for
// (spec.loadBalancerIP, in its family), the one it has, or the first free one. It is an error if an address is not
// available; the controller reports it as an event of the Service.
func (c *allocator) give(s *corev1.Service) ([]corev1.LoadBalancerIngress, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.taken(s.UID)
	if !canAsk(s) {
		return nil, fmt.Errorf("give service %q its spec.loadBalancerIP %q: the Service is of %s alone",
			s.Namespace+"/"+s.Name, s.Spec.LoadBalancerIP, families(s)[0])
	}

	var given []netip.Addr
	var status []corev1.LoadBalancerIngress
	vip := corev1.LoadBalancerIPModeVIP
	for _, family := range families(s) {
		addr, err := c.choose(s, family, taken)
		if err != nil {
			return nil, err
		}
		given = append(given, addr)
		status = append(status, corev1.LoadBalancerIngress{IP: addr.String(), IPMode: &vip})
	}

	c.given[s.UID] = given
	return status, nil
}

// families returns a Service's families in their order.
func families(s *corev1.Service) []corev1.IPFamily {
	if len(s.Spec.IPFamilies) == 0 { // the API server sets them; one that has no default is of the cluster's first
		return []corev1.IPFamily{corev1.IPv4Protocol}
	}
	return s.Spec.IPFamilies
}

// familyOf returns an address' family in the API's words.
func familyOf(a netip.Addr) corev1.IPFamily {
	if a.Is6() {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// pool returns the pool of a family; not valid if there is none.
func (c *allocator) pool(family corev1.IPFamily) netip.Prefix {
	for _, p := range c.pools {
		if familyOf(p.Addr()) == family {
			return p
		}
	}
	return netip.Prefix{}
}

// canAsk reports whether the Service may ask for the address that it asks for: one of a family that it has. What is no
// address is reported by choose.
func canAsk(s *corev1.Service) bool {
	want, err := netip.ParseAddr(s.Spec.LoadBalancerIP)
	return err != nil || slices.Contains(families(s), familyOf(want))
}

func (c *allocator) choose(s *corev1.Service, family corev1.IPFamily, taken map[netip.Addr]string) (netip.Addr, error) {
	pool, name := c.pool(family), s.Namespace+"/"+s.Name
	if !pool.IsValid() {
		return netip.Addr{}, fmt.Errorf("give service %q an address: the cluster has no pool of %s addresses", name, family)
	}

	if want := s.Spec.LoadBalancerIP; want != "" {
		addr, err := netip.ParseAddr(want)
		switch {
		case err == nil && familyOf(addr) != family: // it is for the other family
		case err != nil || !pool.Contains(addr):
			return netip.Addr{}, fmt.Errorf("give service %q its spec.loadBalancerIP %q: not an address of the pool %s",
				name, want, pool)
		case taken[addr] != "":
			return netip.Addr{}, &takenError{
				fmt.Sprintf("give service %q its spec.loadBalancerIP %s: service %q has it", name, addr, taken[addr]),
			}

		default:
			return addr, nil
		}
	}

	for _, addr := range ingress(pool, s) {
		if taken[addr] == "" {
			return addr, nil
		}
	}

	for addr := pool.Addr(); pool.Contains(addr); addr = addr.Next() {
		if taken[addr] == "" {
			return addr, nil
		}
	}

	return netip.Addr{}, &takenError{fmt.Sprintf(
		"give service %q an address: all %d of the pool %s are taken; delete a Service of type LoadBalancer, or bring the cluster up with a larger networking.loadBalancerPool",
		name, 1<<(pool.Addr().BitLen()-pool.Bits()), pool)}
}

// taken returns the addresses of other Services, each with the Service that has it.
func (c *allocator) taken(but types.UID) map[netip.Addr]string {
	live, taken := map[types.UID]bool{}, map[netip.Addr]string{}
	for _, s := range c.services() {
		if !ours(s) {
			continue
		}
		live[s.UID] = true
		if s.UID == but {
			continue
		}

		for _, addr := range append(c.addresses(s), c.given[s.UID]...) {
			taken[addr] = s.Namespace + "/" + s.Name
		}
	}

	for uid := range c.given {
		if !live[uid] && uid != but {
			delete(c.given, uid)
		}
	}

	return taken
}

// addresses returns the addresses of the pools that are in the Service's status.
func (c *allocator) addresses(s *corev1.Service) (all []netip.Addr) {
	for _, pool := range c.pools {
		all = append(all, ingress(pool, s)...)
	}
	return all
}

func ingress(pool netip.Prefix, s *corev1.Service) []netip.Addr {
	var addrs []netip.Addr
	for _, i := range s.Status.LoadBalancer.Ingress {
		if addr, err := netip.ParseAddr(i.IP); err == nil && pool.Contains(addr) {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// ours reports whether the Service is for the cluster's own load balancer. A Service with a class is for another one.
// https://kubernetes.io/docs/concepts/services-networking/service/#load-balancer-class
func ours(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil
}

// has reports whether the Service has an address of the pools.
func (c *allocator) has(s *corev1.Service) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.given[s.UID]) > 0 || len(c.addresses(s)) > 0
}

// free frees the Service's addresses, as soon as its status does not show them either.
func (c *allocator) free(s *corev1.Service) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.given, s.UID)
}
