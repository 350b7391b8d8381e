package parts

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/machines"
)

// claimAt returns the claim of the machine with that part.
func claimAt(part int, address string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: machines.ClaimName(part), Namespace: machines.Namespace},
		Data:       machines.ClaimData(netip.MustParseAddr(address), "somebody"),
	}
}

// span records the machines that a network spans.
type span struct {
	mu  sync.Mutex
	at  []string
	err error
}

func (s *span) SetMachines(_ context.Context, all []netip.Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = nil
	for _, a := range all {
		s.at = append(s.at, a.String())
	}
	slices.Sort(s.at)
	return s.err
}

func (s *span) is(want ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Equal(s.at, want)
}

// When Start returns, the network spans all machines there are; after that it follows those that join and leave. A
// ConfigMap that is no claim is no machine.
func TestPeers(t *testing.T) {
	damaged := claimAt(9, "192.0.2.9")
	damaged.Data = nil
	client := fake.NewClientset(claimAt(0, "192.0.2.1"), claimAt(1, "192.0.2.2"), damaged)
	s := &span{}
	j := &journal{}
	seen := &span{err: errors.New("no answer")}
	p := &Peers{
		Client:   always(client),
		Underlay: s,
		Seen:     seen.SetMachines,
		Log:      slog.New(slog.DiscardHandler),
	}

	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	if !s.is("192.0.2.1", "192.0.2.2") || !seen.is("192.0.2.1", "192.0.2.2") {
		t.Errorf("after Start it spans %q, and %q are seen", s.at, seen.at)
	}
	watched(t, client, "configmaps")
	claims := client.CoreV1().ConfigMaps(machines.Namespace)
	if _, err := claims.Create(t.Context(), claimAt(2, "192.0.2.3"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the third machine is spanned", func() bool { return s.is("192.0.2.1", "192.0.2.2", "192.0.2.3") })
	if err := claims.Delete(t.Context(), machines.ClaimName(1), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second is no more", func() bool { return s.is("192.0.2.1", "192.0.2.3") })
	eventually(t, "it is told", func() bool { return seen.is("192.0.2.1", "192.0.2.3") })
	if err := p.Stop(t.Context()); err != nil || j.count("") > 0 || !s.is("192.0.2.1", "192.0.2.3") {
		t.Errorf("Stop = %v; the log is %s; it spans %q", err, &j.text, s.at)
	}
}

// If the network cannot span the machines, they are logged, and it is tried again with the next change.
func TestPeersThatCannotBeSpanned(t *testing.T) {
	client := fake.NewClientset(claimAt(0, "192.0.2.1"))
	s := &span{err: errors.New("no such device")}
	j := &journal{}
	p := &Peers{
		Client:   always(client),
		Underlay: s,
		Log:      j.log(),
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	watched(t, client, "configmaps")
	if j.count("192.0.2.1") == 0 || j.count("no such device") == 0 {
		t.Errorf("the log is %s", &j.text)
	}

	if _, err := client.CoreV1().ConfigMaps(machines.Namespace).Create(t.Context(), claimAt(1, "192.0.2.2"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is tried with both", func() bool { return s.is("192.0.2.1", "192.0.2.2") })
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// If the list of machines cannot be read, the start fails. Stop ends what was begun, and can be called without a start.
func TestPeersDoNotStart(t *testing.T) {
	client, asked := fake.NewClientset(), make(chan struct{}, 100)
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked <- struct{}{}
		return true, nil, apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("no right"))
	})

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()

	p := &Peers{
		Client:   always(client),
		Underlay: &span{},
		Log:      (&journal{}).log(),
	}
	err := p.Start(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}

	says(t, err, "read the cluster's machines")
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}

	p = &Peers{Client: never}
	if err := p.Start(t.Context()); !errors.Is(err, errNoClient) {
		t.Errorf("got %v", err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// The machine's nodes own the claim, so it is removed with the last of them. A second start changes nothing; a node
// that was made anew takes its old one's place.
func TestClaim(t *testing.T) {
	registered := func(name string, uid types.UID) *corev1.Node {
		n := nodeAt(name, "")
		n.UID = uid
		return n
	}

	client := fake.NewClientset(claimAt(1, "192.0.2.2"), registered("win-1", "a"), registered("win-2", "b"))
	c := &Claim{
		Client: always(client),
		Part:   1,
		Nodes:  []string{"win-1", "win-2"},
	}

	owners := func() map[string]types.UID {
		got, err := client.CoreV1().ConfigMaps(machines.Namespace).Get(t.Context(), "machine-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]types.UID{}
		for _, o := range got.OwnerReferences {
			all[o.Kind+" "+o.Name] = o.UID
		}

		return all
	}

	for range 2 {
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	if diff := cmp.Diff(map[string]types.UID{"Node win-1": "a", "Node win-2": "b"}, owners()); diff != "" {
		t.Error(diff)
	}
	written := 0
	for _, a := range client.Actions() {
		if a.Matches("update", "configmaps") {
			written++
		}
	}

	if written != 1 {
		t.Errorf("two starts wrote the claim %d times", written)
	}
	change(t, client, registered("win-2", "c"))
	if err := c.Start(t.Context()); err != nil || owners()["Node win-2"] != "c" || len(owners()) != 2 {
		t.Errorf("after a node was made anew it belongs to %v: %v", owners(), err)
	}

	if err := c.Stop(t.Context()); err != nil || len(owners()) != 2 {
		t.Errorf("after Stop it belongs to %v: %v", owners(), err)
	}
}

// If the claim does not exist, or is owned by nodes that do not, the start fails: the machine's part is another's.
func TestClaimDoesNotStart(t *testing.T) {
	client := fake.NewClientset(claimAt(1, "192.0.2.2"))
	says(t, (&Claim{
		Client: always(client),
		Part:   1,
		Nodes:  []string{"win-1"},
	}).Start(t.Context()), `read node "win-1"`)
	says(t, (&Claim{Client: always(client), Part: 2}).Start(t.Context()), "read the claim of part 2")
	if err := (&Claim{Client: never}).Start(t.Context()); !errors.Is(err, errNoClient) {
		t.Errorf("got %v", err)
	}
}
