package loadbalancer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/spec"
)

const settle = 60 * time.Second

// world is a controller on a fake API with one ready Linux node.
type world struct {
	*testing.T
	client *fake.Clientset
	routes chan []Route
}

func newWorld(t *testing.T, pool string) *world {
	t.Helper()
	w := &world{
		T:      t,
		client: fake.NewClientset(node("linux-1", spec.Linux, "10.213.0.11")),
		routes: make(chan []Route, 100),
	}
	w.start(pool)
	return w
}

// start runs a controller until the test ends, or until stop is called.
func (w *world) start(pool string) (stop func()) {
	w.Helper()
	cfg := config(pool)
	cfg.Client = func() (kubeclient.Interface, error) { return w.client, nil }
	cfg.SetRoutes = func(_ context.Context, routes []Route) error {
		select {
		case w.routes <- routes:
		default:
		}
		return nil
	}

	c := New(cfg)
	if err := c.Start(w.Context()); err != nil {
		w.Fatal(err)
	}
	stop = func() { _ = c.Stop(context.WithoutCancel(w.Context())) }
	w.Cleanup(stop)
	return stop
}

func (w *world) create(name string, change func(*corev1.Service)) {
	w.Helper()
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: "default",
			UID:       types.UID(name),
		},
		Spec: corev1.ServiceSpec{
			Type:       corev1.ServiceTypeLoadBalancer,
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports:      []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}},
		},
	}

	if change != nil {
		change(s)
	}
	if _, err := w.client.CoreV1().Services("default").Create(w.Context(), s, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) get(name string) *corev1.Service {
	w.Helper()
	s, err := w.client.CoreV1().Services("default").Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) change(name string, change func(*corev1.Service)) {
	w.Helper()
	s := w.get(name)
	change(s)
	if _, err := w.client.CoreV1().Services("default").Update(w.Context(), s, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// eventually waits until what returns "".
func (w *world) eventually(what func() string) {
	w.Helper()
	deadline := time.Now().Add(settle)
	for {
		complaint := what()
		if complaint == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatal(complaint)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// has waits until the Service's status has the address want, or none if want is "".
func (w *world) has(name, want string) {
	w.Helper()
	w.eventually(func() string {
		var got []string
		for _, i := range w.get(name).Status.LoadBalancer.Ingress {
			if i.IPMode == nil || *i.IPMode != corev1.LoadBalancerIPModeVIP {
				return fmt.Sprintf("%s: the ingress' ipMode is %v, want VIP", name, i.IPMode)
			}
			got = append(got, i.IP)
		}
		if strings.Join(got, " ") != want {
			return fmt.Sprintf("%s has addresses %v, want %q", name, got, want)
		}

		return ""
	})
}

// event waits for a warning that the Service gets no address.
func (w *world) event(name, message string) {
	w.Helper()
	const reason = "SyncLoadBalancerFailed"
	w.eventually(func() string {
		events, err := w.client.CoreV1().Events("default").List(w.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}

		for _, e := range events.Items {
			if e.InvolvedObject.Name == name && e.Type == corev1.EventTypeWarning && e.Reason == reason &&
				strings.Contains(e.Message, message) {
				return ""
			}
		}

		return fmt.Sprintf("no event %s %q of %s among %d", reason, message, name, len(events.Items))
	})
}

func TestAddresses(t *testing.T) {
	t.Parallel() // a Service that waits tries again after seconds
	w := newWorld(t, "10.213.0.224/30")
	w.create("a", nil)
	w.has("a", "10.213.0.224")
	if got := w.get("a").Finalizers; !slices.Contains(got, "service.kubernetes.io/load-balancer-cleanup") {
		t.Errorf("finalizers = %q", got)
	}

	w.create("asks", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "10.213.0.226" })
	w.has("asks", "10.213.0.226")
	w.create("b", nil)
	w.has("b", "10.213.0.225")
	w.create("c", nil)
	w.has("c", "10.213.0.227")

	w.create("late", nil)
	w.event("late", "of the pool 10.213.0.224/30 are taken")
	w.create("elsewhere", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "192.0.2.1" })
	w.event("elsewhere", `"192.0.2.1": not an address of the pool 10.213.0.224/30`)
	w.create("greedy", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "10.213.0.224" })
	w.event("greedy", `service "default/a" has it`)

	// A freed address goes to a Service that waits for one.
	w.change("b", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	w.has("b", "")
	w.has("late", "10.213.0.225")
	if got := w.get("b").Finalizers; len(got) != 0 {
		t.Errorf("finalizers of a Service that is no LoadBalancer any more = %q", got)
	}
}

// Services of both families have an address of each, in their order.
func TestFamilies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "10.213.0.224/30,fd00:213::e0/127")
	families := func(all ...corev1.IPFamily) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.IPFamilies = all }
	}
	w.create("six", families(corev1.IPv6Protocol))
	w.has("six", "fd00:213::e0")
	w.create("asks", func(s *corev1.Service) {
		families(corev1.IPv6Protocol, corev1.IPv4Protocol)(s)
		s.Spec.LoadBalancerIP = "10.213.0.226"
	})

	w.has("asks", "fd00:213::e1 10.213.0.226")
	w.create("four", nil)
	w.has("four", "10.213.0.224")

	w.create("late", families(corev1.IPv4Protocol, corev1.IPv6Protocol))
	w.event("late", "all 2 of the pool fd00:213::e0/127 are taken")
	w.create("other", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "fd00:213::e1" })
	w.event("other", `"fd00:213::e1": the Service is of IPv4 alone`)

	// What a Service of both families no longer needs goes to one that waits, and its own first address stays.
	w.change("asks", families(corev1.IPv6Protocol))
	w.event("asks", `"10.213.0.226": the Service is of IPv6 alone`)
	w.change("asks", func(s *corev1.Service) { s.Spec.LoadBalancerIP = "" })
	w.has("asks", "fd00:213::e1")
	w.change("six", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	w.has("six", "")
	w.has("late", "10.213.0.225 fd00:213::e0")
}

// A cluster of IPv4 alone says why a Service of IPv6 has no address.
func TestNoPoolOfIPv6(t *testing.T) {
	w := newWorld(t, "10.213.0.224/28")
	w.create("six", func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} })
	w.event("six", "the cluster has no pool of IPv6 addresses")
}

func TestClassOfOthers(t *testing.T) {
	w := newWorld(t, "10.213.0.224/28")
	w.create("other", func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/other") })
	w.create("inner", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })
	w.create("ours", nil)
	w.has("ours", "10.213.0.224")
	w.has("other", "")
	w.has("inner", "")
	if got := w.get("other").Finalizers; len(got) != 0 {
		t.Errorf("finalizers of a Service of another class = %q", got)
	}
}

// A controller that is started again reads from the API which Service has which address.
func TestRestart(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	w := &world{
		T:      t,
		client: fake.NewClientset(node("linux-1", spec.Linux, "10.213.0.11")),
		routes: make(chan []Route, 100),
	}

	stop := w.start("10.213.0.224/28")
	w.create("a", nil)
	w.has("a", "10.213.0.224")
	w.create("b", nil)
	w.has("b", "10.213.0.225")
	stop()
	w.change("a", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	w.start("10.213.0.224/28")
	w.has("a", "") // also changes while no controller ran
	w.create("c", nil)
	w.has("c", "10.213.0.224")
	w.has("b", "10.213.0.225")
}

func TestRoutesFollow(t *testing.T) {
	w := newWorld(t, "10.213.0.224/28")
	w.create("a", nil)
	w.routed("10.213.0.224 via 10.213.0.11")
	n, err := w.client.CoreV1().Nodes().Get(t.Context(), "linux-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	n.Status.Conditions[0].Status = corev1.ConditionUnknown
	if _, err := w.client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.routed("")
	if _, err := w.client.CoreV1().Nodes().Create(t.Context(), node("linux-2", spec.Linux, "10.213.0.12"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	w.routed("10.213.0.224 via 10.213.0.12")
}

// routed waits for these routes.
func (w *world) routed(want string) {
	w.Helper()
	limit := time.After(settle)
	for got := ""; ; {
		select {
		case routes := <-w.routes:
			if got = text(routes); got == want {
				return
			}
		case <-limit:
			w.Fatalf("routes = %q, want %q", got, want)
		}
	}
}

func text(routes []Route) string {
	var lines []string
	for _, r := range routes {
		lines = append(lines, fmt.Sprintf("%s via %s", r.Address, r.Via))
	}
	return strings.Join(lines, ", ")
}
