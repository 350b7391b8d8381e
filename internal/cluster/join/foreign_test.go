package join

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	ourversion "mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/spec"
)

// ownNetwork returns an address of this machine's on a network that nodes could be on, and another address there.
func ownNetwork(t *testing.T) (own, other netip.Addr) {
	t.Helper()
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}

	for _, link := range links {
		addrs, err := link.Addrs()
		if err != nil || link.Flags&net.FlagBroadcast == 0 {
			continue
		}

		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err != nil || !p.Addr().Is4() || p.Bits() > 29 || p.Addr().IsLinkLocalUnicast() {
				continue
			}
			for other := p.Masked().Addr().Next().Next(); p.Contains(other); other = other.Next() {
				if other != p.Addr() {
					return p.Addr(), other
				}
			}
		}
	}

	t.Skip("this machine is on no network")
	return own, other
}

// ofKubeadm returns the API of a cluster of kubeadm's.
func ofKubeadm(t *testing.T) *api {
	t.Helper()
	of := func(name, key, text string) runtime.Object {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem},
			Data:       map[string]string{key: text},
		}
	}
	a := newAPI(t,
		of("kubeadm-config", "ClusterConfiguration", "clusterName: theirs\nnetworking: {podSubnet: 198.18.0.0/16}\n"),
		of("kubelet-config", "kubelet", "clusterDNS: [10.96.0.10]\n"))
	a.serves(ourversion.Kubernetes)
	return a
}

// known is such a cluster as kubeadm.Cluster.
func known() kubeadm.Cluster {
	return kubeadm.Cluster{
		Name:     "theirs",
		Domain:   "example.org",
		Pods:     netip.MustParsePrefix("198.18.0.0/16"),
		Services: netip.MustParsePrefix("10.96.0.0/12"),
		DNS:      netip.MustParseAddr("10.96.0.10"),
	}
}

// A machine's part of another's cluster stands on the machine's own network, and has the cluster's subnets, name and
// DNS.
func TestForeignSpec(t *testing.T) {
	a := newAPI(t)
	j, _, _ := joins(t, a)
	own, other := ownNetwork(t)
	j.Address = own
	j.NodeAddresses = []netip.Addr{other}
	j.admin = true
	j.KubeProxyMode, j.DisableDefaultCNI = spec.KubeProxyNone, true
	c, err := j.foreignSpec(known())
	if err != nil {
		t.Fatal(err)
	}

	n, f := c.Networking, c.Join.Foreign
	if c.Name != "theirs" || n.PodSubnet != "198.18.0.0/16" || n.ServiceSubnet != "10.96.0.0/12" ||
		!netip.MustParsePrefix(n.UnderlaySubnet).Contains(own) || n.KubeProxyMode != spec.KubeProxyNone ||
		!n.DisableDefaultCNI {
		t.Errorf("its network: %+v", n)
	}

	if f.Domain != "example.org" || f.DNS != "10.96.0.10" || !f.Granted || f.MTU == 0 ||
		!slices.Equal(f.Addresses, []string{other.String()}) || c.Join.Address != own.String() ||
		c.Join.Server != a.url {
		t.Errorf("it joins: %+v, %+v", c.Join, f)
	}
}

// Linux nodes, a number of addresses that is not that of the nodes, and addresses that cannot be taken are refused.
func TestForeignSpecRefuses(t *testing.T) {
	own, other := ownNetwork(t)
	for name, tt := range map[string]struct {
		change func(*joining)
		want   error
		says   string
	}{
		"linux":          {func(j *joining) { j.Nodes[0].OS = spec.Linux }, ErrLinuxForeign, "only Windows nodes"},
		"no-address":     {func(j *joining) { j.NodeAddresses = nil }, ErrNodeAddresses, `join cluster "theirs"`},
		"too-few":        {func(j *joining) { j.Nodes[0].Count = 2 }, ErrNodeAddresses, "--node-address once for each node"},
		"too-many":       {func(j *joining) { j.NodeAddresses = []netip.Addr{other, own} }, ErrNodeAddresses, ""},
		"own":            {func(j *joining) { j.NodeAddresses = []netip.Addr{own} }, nil, own.String()},
		"far":            {func(j *joining) { j.NodeAddresses = []netip.Addr{netip.MustParseAddr("203.0.113.9")} }, nil, "203.0.113.9"},
		"no-such-link":   {func(j *joining) { j.Address = netip.MustParseAddr("203.0.113.9") }, ErrNoNetwork, "no interface has the address"},
		"machines-alone": {func(j *joining) { j.Address = netip.MustParseAddr("127.0.0.1") }, ErrNoNetwork, "a network of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			j, _, _ := joins(t, newAPI(t))
			j.Address, j.NodeAddresses = own, []netip.Addr{other}
			tt.change(j)
			_, err := j.foreignSpec(known())
			says(t, err, tt.says)
			conflict, ok := errors.AsType[*cluster.ConflictError](err)
			if (tt.want != nil && !errors.Is(err, tt.want)) || (tt.want == nil && (!ok || conflict.Remedy == "")) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// Nodes without a name are named after the machine, as other machines' are in the same cluster. Those with one keep it.
func TestForeignNodes(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	j := &joining{Options: Options{Nodes: []spec.Node{{Count: 99}, {Name: "mine"}}}}
	want := []spec.Node{{Name: nameAfter(host), Count: 99}, {Name: "mine"}}
	if diff := cmp.Diff(want, j.foreignNodes()); diff != "" || j.Nodes[0].Name != "" {
		t.Errorf("from %+v: %s", j.Nodes, diff)
	}
}

// The name is one that a node may have, and short enough for a Windows computer's with a number.
func TestNameAfter(t *testing.T) {
	for host, want := range map[string]string{
		"db1":                 "db1-win",
		"DB_1.example.org":    "db-1-win",
		"build-server-07":     "build-se-win",
		"machine-of-jane":     "machine-win",
		"--":                  "mullion-win",
		"":                    "mullion-win",
		"\u00e9t\u00e9":       "t-win",
		"12345678.more.to.it": "12345678-win",
	} {
		if got := nameAfter(host); got != want || len(got+"-99") > 15 {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

// A cluster's network that nodes cannot be part of, and names that are taken, are refused before anything is made. If a
// token may not see these things, the join goes on.
func TestFreeInCluster(t *testing.T) {
	vxlan := node("theirs-1")
	vxlan.Annotations = map[string]string{"flannel.alpha.coreos.com/backend-type": "vxlan"}
	for name, tt := range map[string]struct {
		nodes  []runtime.Object
		answer error
		want   error
	}{
		"free":        {[]runtime.Object{node("theirs-1")}, nil, nil},
		"taken":       {[]runtime.Object{node("ours-win-1")}, nil, machines.ErrNodeExists},
		"other-kind":  {[]runtime.Object{node("theirs-0"), vxlan}, nil, kubeadm.ErrNetwork},
		"not-to-list": {[]runtime.Object{vxlan}, forbidden("nodes", ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, tt.nodes...)
			if tt.answer != nil {
				a.refuse("*", "list", "nodes", tt.answer)
			}
			j, _, _ := joins(t, a)
			ours := spec.Cluster{Nodes: []spec.Node{{Name: "ours-win-1"}}}
			if err := j.freeInCluster(t.Context(), ours); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}

	a := newAPI(t)
	a.refuse("*", "list", "nodes", silent())
	j, _, _ := joins(t, a)
	says(t, j.freeInCluster(t.Context(), spec.Cluster{}), "list the cluster's nodes", "etcd has no leader")
}

// foreignJoin returns a join of a cluster of kubeadm's, of one node.
func foreignJoin(t *testing.T, a *api) (*joining, *room, *story) {
	t.Helper()
	j, r, s := joins(t, a)
	own, other := ownNetwork(t)
	j.Address = own
	j.NodeAddresses = []netip.Addr{other}
	j.Nodes = []spec.Node{{Name: "ours-win-1"}}
	return j, r, s
}

// While its nodes start, an administrator's join gives each node its rights as soon as it registers; the nodes' parts
// wait for them.
func TestForeignJoinGrants(t *testing.T) {
	a := ofKubeadm(t)
	j, r, s := foreignJoin(t, a)
	j.admin = true
	r.starts = func(ctx context.Context, o cluster.UpOptions) error {
		if err := registers(t, a, nil)(ctx, o); err != nil {
			return err
		}
		return until(ctx, func(ctx context.Context) bool { return len(bindings(ctx, t, a)) == 2 })
	}

	c, err := j.finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !c.Join.Foreign.Granted || c.Part() != 0 || !slices.Equal(c.NodeNames(), []string{"ours-win-1"}) {
		t.Errorf("it is %+v", c)
	}

	if diff := cmp.Diff([]string{"mullion:leave:ours-win-1", "mullion:proxy:ours-win-1"}, bindings(t.Context(), t, a)); diff != "" {
		t.Error(diff)
	}
	says(t, errors.New(strings.Join(s.steps, "\n")), `cluster "theirs" of kubeadm's: pods 198.18.0.0/16`)
}

// until waits for something for as long as a test may take.
func until(ctx context.Context, is func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is(ctx) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// bindings returns the names of the rights that somebody was given.
func bindings(ctx context.Context, t *testing.T, a *api) []string {
	t.Helper()
	all, err := a.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Error(err)
		return nil
	}
	var names []string
	for _, b := range all.Items {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return names
}

// A join by a token gives no rights: it may not, and does not try.
func TestForeignJoinByTokenGrantsNothing(t *testing.T) {
	a := ofKubeadm(t)
	j, r, _ := foreignJoin(t, a)
	r.starts = registers(t, a, nil)
	if c, err := j.finish(t.Context()); err != nil || c.Join.Foreign.Granted || len(bindings(t.Context(), t, a)) > 0 {
		t.Errorf("got %v; somebody was given %q", err, bindings(t.Context(), t, a))
	}
}

// If somebody on the network has the address, the join is refused before it changes the machine, and the error says
// what to do.
func TestForeignJoinOfAddressThatIsTaken(t *testing.T) {
	j, r, _ := foreignJoin(t, ofKubeadm(t))
	r.taken = j.NodeAddresses
	_, err := j.finish(t.Context())
	conflict, ok := errors.AsType[*cluster.ConflictError](err)
	if !ok || !strings.Contains(conflict.Remedy, "--node-address") {
		t.Errorf("got %v", err)
	}
	says(t, err, j.NodeAddresses[0].String(), "somebody on")
	if len(r.did) > 0 {
		t.Errorf("the machine did %q", r.did)
	}
}

// A join that fails says what the nodes wait for and why the rights could not be given. If a node never registered, the
// join does not wait for it and says nothing of rights.
func TestForeignJoinThatFails(t *testing.T) {
	t.Run("no-rights", func(t *testing.T) {
		a := ofKubeadm(t)
		refused := make(chan struct{})
		j, r, _ := foreignJoin(t, a)
		j.admin = true
		a.PrependReactor("patch", "clusterroles", func(clienttesting.Action) (bool, runtime.Object, error) {
			defer close(refused)
			return true, nil, forbidden("clusterroles", "mullion:leave:ours-win-1")
		})

		r.starts = func(ctx context.Context, o cluster.UpOptions) error {
			registered := registers(t, a, errNotReady)(ctx, o)
			<-refused
			return registered
		}
		_, err := j.finish(t.Context())
		if !errors.Is(err, errNotReady) {
			t.Errorf("got %v", err)
		}

		says(t, err, `give node "ours-win-1" its rights`, "you have no such right")
		if a.has(t, "ours-win-1") || exists(j.Paths.Data) {
			t.Error("something of it is left")
		}
	})

	t.Run("no-node", func(t *testing.T) {
		j, r, _ := foreignJoin(t, ofKubeadm(t))
		j.admin = true
		r.starts = func(context.Context, cluster.UpOptions) error { return errNotReady }
		if _, err := j.finish(t.Context()); err == nil || err.Error() != errNotReady.Error() {
			t.Errorf("got %v", err)
		}
	})
}

// Each node asks with its own rights whether it waits for an administrator. A node that cannot ask does not count as
// waiting.
func TestWaitingForRights(t *testing.T) {
	a := newAPI(t)
	a.PrependReactor("create", "selfsubjectaccessreviews",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			asked := action.(clienttesting.CreateAction).GetObject()
			review := asked.(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
			review.Status.Allowed = a.user == "system:node:win-1" || review.Spec.ResourceAttributes.Resource == "nodes"
			return true, review, nil
		})

	paths := a.joined(t, 0)
	c := spec.Cluster{
		Nodes: []spec.Node{{Name: "win-1"}, {Name: "win-2"}, {Name: "no-certificate"}},
		Join:  &spec.Join{Server: a.url, Foreign: &spec.Foreign{}},
	}
	for _, name := range []string{"win-1", "win-2"} {
		certify(t, cluster.NodeClients(paths, c).Identities[name].Dir, name)
	}

	if got := WaitingForRights(t.Context(), paths, c); !slices.Equal(got, []string{"win-2"}) {
		t.Errorf("%q wait", got)
	}
	c.Join.Foreign = nil
	before := len(a.said(""))
	if got := WaitingForRights(t.Context(), paths, c); len(got) > 0 || len(a.said("")) != before {
		t.Errorf("in a cluster of Mullion's %q wait", got)
	}
}
