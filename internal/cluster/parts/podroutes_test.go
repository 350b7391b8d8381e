package parts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
)

// table is a machine's routes: what each node was set to last, and how often it was seen.
type table struct {
	mu     sync.Mutex
	routes map[string]string
	seen   map[string]int
	fails  string // the node whose routes cannot be set
	slow   time.Duration
}

func (r *table) set(ctx context.Context, to PodRange) error {
	select {
	case <-ctx.Done():
	case <-time.After(r.slow):
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if to.Node == r.fails {
		return errors.New("no buffer space available")
	}
	if r.routes == nil {
		r.routes = map[string]string{}
	}
	r.routes[to.Node] = strings.TrimSpace(fmt.Sprint(to.Via, to.CIDRs, " ", to.Router))
	return nil
}

func (r *table) see(_ context.Context, node *corev1.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	r.seen[node.Name]++
}

// of returns a node's routes, "" if none were ever set.
func (r *table) of(node string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.routes[node]
}

func (r *table) sawNode(node string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[node]
}

// follow starts the component on an API, until the test's end.
func follow(t *testing.T, client *fake.Clientset, r *table) *journal {
	t.Helper()
	j := &journal{}
	p := &PodRoutes{
		Client: always(client),
		Set:    r.set,
		Seen:   r.see,
		Log:    j.log(),
	}

	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	watched(t, client, "nodes")

	return j
}

func change(t *testing.T, client *fake.Clientset, node *corev1.Node) {
	t.Helper()
	if _, err := client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Nodes that come, change and go get their routes, have them changed, and lose them.
func TestPodRoutes(t *testing.T) {
	client, r := fake.NewClientset(nodeAt("a", "192.0.2.1", "10.244.1.0/24", "fd00:1::/64")), &table{}
	j := follow(t, client, r)
	is := func(node, want string) {
		t.Helper()
		eventually(t, node+" has "+want, func() bool { return r.of(node) == want })
	}
	is("a", "192.0.2.1 [10.244.1.0/24 fd00:1::/64]")

	late := nodeAt("b", "192.0.2.2")
	if _, err := client.CoreV1().Nodes().Create(t.Context(), late, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b is seen", func() bool { return r.sawNode("b") > 0 })
	if got := r.of("b"); got != "" {
		t.Errorf("b has %s before it has pod addresses", got)
	}

	late.Spec.PodCIDRs = []string{"10.244.2.0/24"}
	change(t, client, late)
	is("b", "192.0.2.2 [10.244.2.0/24]")
	change(t, client, nodeAt("b", "192.0.2.9", "10.244.2.0/24"))
	is("b", "192.0.2.9 [10.244.2.0/24]")

	if err := client.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	is("b", "192.0.2.9 []")
	if got := r.of("a"); got != "192.0.2.1 [10.244.1.0/24 fd00:1::/64]" || j.count("") > 0 {
		t.Errorf("a has %s, and the log %d lines", got, j.count(""))
	}
}

// When Start returns, the routes to all existing nodes have been set, however long that takes.
func TestPodRoutesAreThereAfterStart(t *testing.T) {
	client, r := fake.NewClientset(), &table{slow: 10 * time.Millisecond}
	for i := range 20 {
		node := nodeAt(fmt.Sprint("n", i), fmt.Sprint("192.0.2.", i+1), fmt.Sprintf("10.244.%d.0/24", i))
		if err := client.Tracker().Add(node); err != nil {
			t.Fatal(err)
		}
	}
	follow(t, client, r)
	for i := range 20 {
		if node := fmt.Sprint("n", i); r.of(node) == "" {
			t.Errorf("%s has none yet", node)
		}
	}
}

// A node with a range that is no CIDR, one whose routes cannot be set, and one without an address do not affect other
// nodes. What went wrong is logged.
func TestPodRoutesOfOtherNodesGoOn(t *testing.T) {
	r := &table{fails: "full"}
	client := fake.NewClientset(nodeAt("bad", "192.0.2.1", "10.244.1.0/99"), nodeAt("full", "192.0.2.2", "10.244.2.0/24"),
		nodeAt("none", "", "10.244.3.0/24"), nodeAt("good", "192.0.2.4", "10.244.4.0/24"))
	j := follow(t, client, r)
	for _, node := range []string{"bad", "full", "none", "good"} {
		eventually(t, node+" is seen", func() bool { return r.sawNode(node) == 1 })
	}

	for node, want := range map[string]string{"bad": "", "full": "", "none": "", "good": "192.0.2.4 [10.244.4.0/24]"} {
		if got := r.of(node); got != want {
			t.Errorf("%s has %q, want %q", node, got, want)
		}
	}

	if j.count("") != 2 || j.count("node=bad cidrs=[10.244.1.0/99]") != 1 || j.count("no buffer space") != 1 {
		t.Errorf("the log is %s", &j.text)
	}
	change(t, client, nodeAt("bad", "192.0.2.1", "10.244.1.0/24"))
	eventually(t, "bad has routes", func() bool { return r.of("bad") == "192.0.2.1 [10.244.1.0/24]" })
	change(t, client, nodeAt("none", "192.0.2.3", "10.244.3.0/24"))
	eventually(t, "none has routes", func() bool { return r.of("none") == "192.0.2.3 [10.244.3.0/24]" })
}

// If the list of nodes cannot be read, or a client cannot be made, the start fails. Stop can be called after both.
func TestPodRoutesDoNotStart(t *testing.T) {
	client, r := fake.NewClientset(), &table{}
	asked := make(chan struct{}, 100)
	client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked <- struct{}{}
		return true, nil, apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("no right"))
	})

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()

	p := &PodRoutes{
		Client: always(client),
		Set:    r.set,
		Log:    (&journal{}).log(),
	}
	err := p.Start(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}

	says(t, err, "the list of nodes did not arrive")
	p.Stop(t.Context())
	p = &PodRoutes{Client: never}
	if err := p.Start(t.Context()); !errors.Is(err, errNoClient) {
		t.Errorf("got %v", err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// The other machines get the router that a node's machine has published with the node's routes.
func TestPublishRouter(t *testing.T) {
	node := nodeAt("a", "192.0.2.1", "10.244.1.0/24")
	node.Annotations = map[string]string{"other": "stays"}
	client, r := fake.NewClientset(node), &table{}
	follow(t, client, r)
	if err := PublishRouter(t.Context(), client, "a", "00:15:5d:01:02:03"); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the router is known", func() bool { return r.of("a") == "192.0.2.1 [10.244.1.0/24] 00:15:5d:01:02:03" })
	got, err := client.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || got.Annotations["other"] != "stays" || len(got.Spec.PodCIDRs) != 1 {
		t.Errorf("the node is %+v, %v", got, err)
	}
	if err := PublishRouter(t.Context(), client, "gone", "00:15:5d:01:02:03"); !apierrors.IsNotFound(err) {
		t.Errorf("a node that is gone: %v", err)
	}
}

// A node's address on the underlay is its first internal one of IPv4.
func TestInternalAddress(t *testing.T) {
	for name, tt := range map[string]struct {
		addresses []corev1.NodeAddress
		want      string
	}{
		"none":     {nil, "invalid IP"},
		"dual":     {[]corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "fd00::1"}, {Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}, "192.0.2.1"},
		"others":   {[]corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeHostName, Address: "192.0.2.2"}}, "invalid IP"},
		"nonsense": {[]corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "win-1"}}, "invalid IP"},
	} {
		node := &corev1.Node{Status: corev1.NodeStatus{Addresses: tt.addresses}}
		if got := InternalAddress(node); got.String() != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
