package nettest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/errtext"
	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/spec"
)

// Namespace is the namespace of a run's pods and Services; it is removed with them.
const Namespace = "mullion-net-test"

const (
	podsReady   = 5 * time.Minute // with an image to unpack, on a busy machine
	removal     = 3 * time.Minute
	balancing   = time.Minute
	pollingStep = 250 * time.Millisecond
)

// serviceAt holds the addresses and ports of a Service.
type serviceAt struct {
	ip          string
	nodePorts   map[Protocol]int32
	ingress     string // the load balancer's address
	healthCheck int32  // the port at which nodes say whether they have a pod of the Service
}

// podAt holds a pod's addresses; ip6 is empty if it has IPv4 only.
type podAt struct{ ip, ip6 string }

// bed is what the flows run on.
type bed struct {
	cfg       Config
	namespace string
	domain    string
	pods      map[string]podAt
	services  map[string]serviceAt
	six       bool // flows use IPv6: the methods return IPv6 addresses and Services
	dns       bool
	one, two  *Node // the Windows nodes under test; two is nil where there is one only
	linux     *Node // the Linux node under test; nil where there is none
}

func newBed(cfg Config) (*bed, error) {
	b := &bed{
		cfg:       cfg,
		namespace: Namespace,
		domain:    cfg.Domain,
		pods:      map[string]podAt{},
		services:  map[string]serviceAt{},
	}

	for i, n := range cfg.Nodes {
		switch {
		case n.OS != spec.Windows && b.linux == nil:
			b.linux = &cfg.Nodes[i]
		case n.OS != spec.Windows:
		case b.one == nil:
			b.one = &cfg.Nodes[i]
		case b.two == nil:
			b.two = &cfg.Nodes[i]
		}
	}

	if b.one == nil {
		return nil, errors.New("the cluster has no Windows node")
	}

	return b, nil
}

// node returns the node for the name that flows give it; nil if the cluster has none.
func (b *bed) node(name string) *Node {
	return map[string]*Node{nodeOne: b.one, nodeTwo: b.two, nodeLinux: b.linux}[name]
}

// address returns the address of a node or of the world outside, by the name that flows give it.
func (b *bed) address(place string) string {
	at, at6 := b.cfg.Outside.Address, b.cfg.Outside.Address6
	if n := b.node(place); n != nil {
		at, at6 = n.Address, n.Address6
	} else if place != outside {
		return ""
	}
	if b.six {
		at = at6
	}

	if !at.IsValid() {
		return ""
	}

	return at.String()
}

// dual reports whether the cluster has both families.
func (b *bed) dual() bool { return b.cfg.Outside.Address6.IsValid() }

// over6 returns the bed as flows over IPv6 see it.
func (b *bed) over6() *bed {
	six := *b
	six.six = true
	return &six
}

// pod returns a test pod's address.
func (b *bed) pod(name string) string {
	if b.six {
		return b.pods[name].ip6
	}
	return b.pods[name].ip
}

// host returns the name of the Service that flows call name: the IPv6 one for flows over IPv6.
func (b *bed) host(name string) string {
	if b.six {
		return name + suffix6
	}
	return name
}

// externalIP is spec.externalIPs of a Service.
func (b *bed) externalIP() string {
	if b.six {
		return externalIP6
	}
	return externalIP
}

func (b *bed) service(name string) serviceAt { return b.services[b.host(name)] }

// far returns the address of the world outside that is beyond the cluster's networks, and its DNS name.
func (b *bed) far() (address, name string) {
	if b.six {
		return FarAddress6().String(), farName6
	}
	return FarAddress().String(), farName
}

// placeOf returns the place of a test pod.
func placeOf(pod string) string {
	return map[string]string{podOneA: nodeOne, podOneB: nodeOne, podTwoA: nodeTwo, podLinux: nodeLinux}[pod]
}

// podNode returns the node that a test pod runs on.
func (b *bed) podNode(pod string) *Node { return b.node(placeOf(pod)) }

func (b *bed) client() kubeclient.Interface { return b.cfg.Client }

// make creates the pods and Services and waits until they can be used.
func (b *bed) make(ctx context.Context) error {
	if err := b.remove(ctx); err != nil { // what a run that was killed left
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
	if _, err := b.client().CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace %q: %w", b.namespace, err)
	}

	for _, p := range b.podSpecs() {
		if err := b.createPod(ctx, p); err != nil {
			return err
		}
	}

	for _, s := range b.serviceSpecs() {
		if err := b.createService(ctx, s); err != nil {
			return err
		}
	}

	b.dns = b.hasDNS(ctx)
	if err := b.waitForPods(ctx); err != nil {
		return err
	}
	b.waitForNames(ctx, namesSettle)
	return b.waitForBalancers(ctx)
}

// createPod waits for the namespace's service account, which a controller makes.
func (b *bed) createPod(ctx context.Context, p *corev1.Pod) error {
	return poll(ctx, 30*time.Second, "create pod "+p.Name, func(ctx context.Context) error {
		_, err := b.client().CoreV1().Pods(b.namespace).Create(ctx, p, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

func (b *bed) createService(ctx context.Context, s *corev1.Service) error {
	made, err := b.client().CoreV1().Services(b.namespace).Create(ctx, s, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create service %q: %w", s.Name, err)
	}
	at := serviceAt{
		ip:          made.Spec.ClusterIP,
		nodePorts:   map[Protocol]int32{},
		healthCheck: made.Spec.HealthCheckNodePort,
	}

	for _, p := range made.Spec.Ports {
		at.nodePorts[Protocol(p.Protocol)] = p.NodePort
	}

	b.services[s.Name] = at
	return nil
}

// waitForBalancers waits until the cluster's controller has given the Services of type LoadBalancer addresses. Flows
// that need an address that is still missing say so.
func (b *bed) waitForBalancers(ctx context.Context) error {
	err := poll(ctx, balancing, "wait for the load balancers' addresses", func(ctx context.Context) error {
		for _, s := range b.serviceSpecs() {
			if s.Spec.Type != corev1.ServiceTypeLoadBalancer || b.services[s.Name].ingress != "" {
				continue
			}
			got, err := b.client().CoreV1().Services(b.namespace).Get(ctx, s.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}

			ingress := got.Status.LoadBalancer.Ingress
			if len(ingress) == 0 {
				return fmt.Errorf("service %s has none", s.Name)
			}
			at := b.services[s.Name]
			at.ingress = ingress[0].IP
			b.services[s.Name] = at
		}

		return nil
	})

	if ctx.Err() != nil {
		return err
	}

	return nil
}

// dnsService is the Service of a cluster's DNS.
const dnsService = "kube-dns"

// hasDNS reports whether the cluster has a DNS service with endpoints.
func (b *bed) hasDNS(ctx context.Context) bool {
	e, err := b.client().DiscoveryV1().EndpointSlices(metav1.NamespaceSystem).List(ctx,
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + dnsService})
	if apierrors.IsNotFound(err) { // an API server before Kubernetes 1.21
		one, err := b.client().CoreV1().Endpoints(metav1.NamespaceSystem).Get(ctx, dnsService, metav1.GetOptions{})
		return err == nil && len(one.Subsets) > 0 && len(one.Subsets[0].Addresses) > 0
	}
	if err != nil {
		return false
	}

	for _, slice := range e.Items {
		for _, ep := range slice.Endpoints {
			if ep.Conditions.Ready != nil && *ep.Conditions.Ready {
				return true
			}
		}
	}

	return false
}

func (b *bed) waitForPods(ctx context.Context) error {
	return poll(ctx, podsReady, "wait for the test pods to be Ready", func(ctx context.Context) error {
		list, err := b.client().CoreV1().Pods(b.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}

		for i := range list.Items {
			p := &list.Items[i]
			if _, err := netip.ParseAddr(p.Status.PodIP); err != nil || !podReady(p) {
				return fmt.Errorf("pod %s on node %s is %s%s", p.Name, p.Spec.NodeName, p.Status.Phase, waiting(p))
			}
			b.pods[p.Name] = podAt{ip: p.Status.PodIP, ip6: address6(p)}
		}

		if len(b.pods) < len(b.podSpecs()) {
			return fmt.Errorf("%d of %d pods are there", len(b.pods), len(b.podSpecs()))
		}

		return nil
	})
}

// address6 returns a pod's IPv6 address, "" if it has none.
func address6(p *corev1.Pod) string {
	for _, ip := range p.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil && a.Is6() {
			return a.String()
		}
	}
	return ""
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// waiting returns why a pod's container does not run.
func waiting(p *corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			return fmt.Sprintf(" (%s %s)", w.Reason, w.Message)
		}
	}
	return ""
}

// remove deletes everything of a run and waits until it is gone; it is no error if there is nothing.
func (b *bed) remove(ctx context.Context) error {
	now := int64(0)
	return poll(ctx, removal, "remove namespace "+b.namespace, func(ctx context.Context) error {
		err := b.client().CoreV1().Namespaces().Delete(ctx, b.namespace, metav1.DeleteOptions{GracePeriodSeconds: &now})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil, apierrors.IsConflict(err):
			return errors.New("it is still there")
		}
		return err
	})
}

// poll repeats try until it returns no error; what names the step in the error.
func poll(ctx context.Context, within time.Duration, what string, try func(context.Context) error) error {
	limit, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(pollingStep)
	defer tick.Stop()

	var last error
	for {
		err := try(limit)
		if err == nil {
			return nil
		}
		if last == nil || (limit.Err() == nil && !errtext.TooLate(err)) {
			last = err
		}

		select {
		case <-limit.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%s: after %s: %w", what, within, last)
		case <-tick.C:
		}
	}
}
