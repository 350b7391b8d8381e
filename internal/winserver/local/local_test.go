package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/windows/wire/services/servicestest"
	"mullion.dev/mullion/internal/winserver"
)

// fakeHNS is HNS in memory. IDs of networks have another letter case where endpoints name them, as HNS' may.
type fakeHNS struct {
	networks  []network
	endpoints []endpoint
	attached  []string // IDs of endpoints
	// wrong is the call that fails.
	wrong string
}

var errHNS = errors.New("HNS says no")

func (f *fakeHNS) fails(call string) error {
	if f.wrong == call {
		return errHNS
	}
	return nil
}

func (f *fakeHNS) listNetworks() ([]network, error) { return f.networks, f.fails("listNetworks") }

func (f *fakeHNS) createNetwork(n network) (network, error) {
	n.id = fmt.Sprintf("net-%d", len(f.networks))
	f.networks = append(f.networks, n)
	return n, f.fails("createNetwork")
}

func (f *fakeHNS) deleteNetwork(n network) error {
	f.networks = slices.DeleteFunc(f.networks, func(other network) bool { return other.id == n.id })
	return f.fails("deleteNetwork")
}

func (f *fakeHNS) listEndpoints() ([]endpoint, error) { return f.endpoints, f.fails("listEndpoints") }

func (f *fakeHNS) createEndpoint(e endpoint) (endpoint, error) {
	e.id, e.network = fmt.Sprintf("ep-%d", len(f.endpoints)), strings.ToUpper(e.network)
	f.endpoints = append(f.endpoints, e)
	return e, f.fails("createEndpoint")
}

func (f *fakeHNS) deleteEndpoint(e endpoint) error {
	f.endpoints = slices.DeleteFunc(f.endpoints, func(other endpoint) bool { return other.id == e.id })
	return f.fails("deleteEndpoint")
}

func (f *fakeHNS) attach(e endpoint) error {
	f.attached = append(f.attached, e.id)
	return f.fails("attach")
}

var podSubnet = netip.MustParsePrefix("10.244.3.7/24") // with bits of a host, which go

// TestEnsure makes a network with the host on it, finds it the next time, and makes nothing twice.
func TestEnsure(t *testing.T) {
	fake := &fakeHNS{}
	n := networks{hns: fake}
	if has, err := n.Has("cbr0"); has || err != nil {
		t.Errorf("has it before: %t, %v", has, err)
	}

	for _, wantFound := range []bool{false, true} {
		found, err := n.Ensure("cbr0", podSubnet)
		if err != nil || found != wantFound {
			t.Errorf("found: %t, %v, want %t", found, err, wantFound)
		}
	}

	if has, err := n.Has("cbr0"); !has || err != nil {
		t.Errorf("has it afterwards: %t, %v", has, err)
	}
	if len(fake.networks) != 1 || len(fake.endpoints) != 1 || !slices.Equal(fake.attached, []string{"ep-0", "ep-0"}) {
		t.Fatalf("%+v", fake)
	}

	made, host := fake.networks[0], fake.endpoints[0]
	if made.kind != "L2Bridge" || !slices.Equal(made.subnets, []string{"10.244.3.0/24"}) || made.gateway != "10.244.3.1" {
		t.Errorf("the network is %+v", made)
	}
	if host.name != "cbr0_ep" || host.address != netip.MustParseAddr("10.244.3.2") ||
		!strings.EqualFold(host.network, made.id) {
		t.Errorf("the host's endpoint is %+v", host)
	}
}

// TestEnsureBesideOthers: an endpoint of that name on another network is not the host's on this one.
func TestEnsureBesideOthers(t *testing.T) {
	fake := &fakeHNS{
		networks: []network{{id: "other", name: "other"}},
		endpoints: []endpoint{
			{id: "ep-other", name: "cbr0_ep", network: "other"},
			{id: "pod", name: "pod", network: "net-1"},
		},
	}
	if found, err := (networks{hns: fake}).Ensure("cbr0", podSubnet); found || err != nil {
		t.Fatalf("found: %t, %v", found, err)
	}
	if !slices.Equal(fake.attached, []string{"ep-2"}) {
		t.Errorf("the host is on %v", fake.attached)
	}
}

func TestEnsureRefuses(t *testing.T) {
	for name, there := range map[string]network{
		"another kind":   {name: "cbr0", kind: "Overlay", subnets: []string{"10.244.3.0/24"}},
		"another subnet": {name: "cbr0", kind: "L2Bridge", subnets: []string{"10.244.4.0/24"}},
		"two subnets":    {name: "cbr0", kind: "L2Bridge", subnets: []string{"10.244.3.0/24", "10.244.4.0/24"}},
		"no subnet":      {name: "cbr0", kind: "L2Bridge"},
	} {
		fake := &fakeHNS{networks: []network{there}}
		found, err := networks{hns: fake}.Ensure("cbr0", podSubnet)
		if !found || !errors.Is(err, winserver.ErrConflict) || len(fake.attached) > 0 || len(fake.endpoints) > 0 {
			t.Errorf("%s: found: %t, %v, %+v", name, found, err, fake)
		}
	}
}

// TestHNSFails: each call that fails is an error of what needs it.
func TestHNSFails(t *testing.T) {
	ensures := []string{"listNetworks", "createNetwork", "listEndpoints", "createEndpoint", "attach"}
	for _, call := range ensures {
		found, err := networks{hns: &fakeHNS{wrong: call}}.Ensure("cbr0", podSubnet)
		if found || !errors.Is(err, errHNS) {
			t.Errorf("ensure without %s: found: %t, %v", call, found, err)
		}
	}

	for _, call := range []string{"listNetworks", "listEndpoints", "deleteEndpoint", "deleteNetwork"} {
		fake := &fakeHNS{}
		if _, err := (networks{hns: fake}).Ensure("cbr0", podSubnet); err != nil {
			t.Fatal(err)
		}
		fake.wrong = call
		if err := (networks{hns: fake}).Delete("cbr0"); !errors.Is(err, errHNS) {
			t.Errorf("delete without %s: %v", call, err)
		}
	}

	if has, err := (networks{hns: &fakeHNS{wrong: "listNetworks"}}).Has("cbr0"); has || !errors.Is(err, errHNS) {
		t.Errorf("has: %t, %v", has, err)
	}
}

// TestDelete removes a network with its endpoints, and nothing else; one that is not there is no error.
func TestDelete(t *testing.T) {
	fake := &fakeHNS{
		networks:  []network{{id: "a", name: "cbr0"}, {id: "b", name: "other"}},
		endpoints: []endpoint{{id: "1", network: "A"}, {id: "2", network: "b"}, {id: "3", network: "a"}},
	}
	n := networks{hns: fake}

	for range 2 {
		if err := n.Delete("cbr0"); err != nil {
			t.Fatal(err)
		}
		if len(fake.networks) != 1 || fake.networks[0].id != "b" || len(fake.endpoints) != 1 || fake.endpoints[0].id != "2" {
			t.Fatalf("%+v", fake)
		}
	}
}

// fakeRuntime has pods, and does not stop or not remove those that are named.
type fakeRuntime struct {
	pods             []string
	stuck, stays     string
	stopped, removed []string
	unreachable      error
}

func (f *fakeRuntime) ListPodSandbox(context.Context, *criapi.ListPodSandboxRequest, ...grpc.CallOption) (
	*criapi.ListPodSandboxResponse, error,
) {
	if f.unreachable != nil {
		return nil, f.unreachable
	}
	var all criapi.ListPodSandboxResponse
	for _, id := range f.pods {
		all.Items = append(all.Items, &criapi.PodSandbox{
			Id:       id,
			Metadata: &criapi.PodSandboxMetadata{Namespace: "default", Name: "pod-" + id},
		})
	}
	return &all, nil
}

func (f *fakeRuntime) StopPodSandbox(_ context.Context, in *criapi.StopPodSandboxRequest, _ ...grpc.CallOption) (
	*criapi.StopPodSandboxResponse, error,
) {
	if in.GetPodSandboxId() == f.stuck {
		return nil, errors.New("it does not stop")
	}
	f.stopped = append(f.stopped, in.GetPodSandboxId())
	return &criapi.StopPodSandboxResponse{}, nil
}

func (f *fakeRuntime) RemovePodSandbox(_ context.Context, in *criapi.RemovePodSandboxRequest, _ ...grpc.CallOption) (
	*criapi.RemovePodSandboxResponse, error,
) {
	if in.GetPodSandboxId() == f.stays {
		return nil, errors.New("it stays")
	}
	f.removed = append(f.removed, in.GetPodSandboxId())
	return &criapi.RemovePodSandboxResponse{}, nil
}

func TestEndAll(t *testing.T) {
	for _, tt := range []struct {
		name             string
		runtime          fakeRuntime
		n                int
		stopped, removed []string
		says             []string
	}{
		{"none", fakeRuntime{}, 0, nil, nil, nil},
		{"all", fakeRuntime{pods: []string{"a", "b"}}, 2, []string{"a", "b"}, []string{"a", "b"}, nil},
		{
			"one does not stop",
			fakeRuntime{pods: []string{"a", "b"}, stuck: "a"},
			2,
			[]string{"b"},
			[]string{"b"},
			[]string{"pod default/pod-a: it does not stop"},
		},
		{
			"one stays",
			fakeRuntime{pods: []string{"a", "b"}, stays: "a"},
			2,
			[]string{"a", "b"},
			[]string{"b"},
			[]string{"pod default/pod-a: it stays"},
		},
		{"no runtime", fakeRuntime{unreachable: errors.New("no pipe")}, 0, nil, nil, []string{"no pipe"}},
	} {
		n, err := endAll(t.Context(), &tt.runtime)
		if n != tt.n || (err != nil) != (len(tt.says) > 0) || !slices.Equal(tt.runtime.stopped, tt.stopped) ||
			!slices.Equal(tt.runtime.removed, tt.removed) {
			t.Errorf("%s: %d pods, %v, stopped %v, removed %v", tt.name, n, err, tt.runtime.stopped, tt.runtime.removed)
		}
		for _, says := range tt.says {
			if err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want %q", tt.name, err, says)
			}
		}
	}
}

// TestList: users read only what they may, and never write what the node runs.
func TestList(t *testing.T) {
	for access, want := range map[winserver.Access]string{
		winserver.Private:  "",
		winserver.Readable: "(A;OICI;0x1200a9;;;BU)",
		winserver.Volumes:  "(A;OICIIO;0x1200a9;;;BU)(A;CIIO;LC;;;BU)(A;CIIO;DC;;;BU)(A;OICIIO;GA;;;CO)",
	} {
		users, ok := strings.CutPrefix(list(access), "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)")
		if !ok || users != want {
			t.Errorf("%v: %s", access, list(access))
		}
	}
}

func TestHealthy(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(status)
	}))
	port := netip.MustParseAddrPort(server.Listener.Addr().String()).Port()

	if err := healthy(t.Context(), int(port)); err != nil {
		t.Errorf("a healthy server: %v", err)
	}
	status = http.StatusInternalServerError
	if err := healthy(t.Context(), int(port)); err == nil || !strings.Contains(err.Error(), "500") {
		t.Errorf("a server that is not healthy: %v", err)
	}
	server.Close()
	if err := healthy(t.Context(), int(port)); err == nil {
		t.Error("nobody answers, and that is healthy")
	}
}

// TestAddress: from the machine itself one is reached by the loopback address, with its network.
func TestAddress(t *testing.T) {
	got, err := address("127.0.0.1:6443")
	if err != nil || got != netip.MustParsePrefix("127.0.0.1/8") {
		t.Errorf("got %s, %v", got, err)
	}
	// All of 127.0.0.0/8 is the machine's, but only the first is an interface's.
	if _, err := address("no host"); err == nil {
		t.Error("an address without a port is one")
	}
}

func TestInterfaceTo(t *testing.T) {
	loopback, err := net.InterfaceByName("lo")
	if err != nil {
		t.Skipf("needs the loopback: %v", err)
	}
	got, err := interfaceTo(netip.MustParseAddr("127.9.9.9"))
	if err != nil || got != loopback.Index {
		t.Errorf("got %d, %v, want %d", got, err, loopback.Index)
	}
	if got, err := interfaceTo(netip.MustParseAddr("203.0.113.77")); err == nil {
		t.Errorf("a stranger is on the network of interface %d", got)
	}
}

// TestCommon: what somebody listens on is taken, and an API server that does not answer is told of with the reason.
func TestCommon(t *testing.T) {
	h := winserver.Host{Root: t.TempDir(), Services: &servicestest.Manager{}}
	asked := Asked{
		Name:    "win-a",
		Runtime: "npipe:////./pipe/x",
	}
	free := common(t.Context(), asked, h)

	l, err := net.Listen("tcp4", "0.0.0.0:10256")
	if err == nil { // else somebody has it already, and it was taken before
		defer l.Close()
	}
	asked.Server = "127.0.0.1:1"
	got := common(t.Context(), asked, h)

	if got.Name != "win-a" || got.Runtime != asked.Runtime || got.Reach != asked.Server || got.Node != "" ||
		len(got.Left) > 0 {
		t.Errorf("%+v", got)
	}
	if !slices.Contains(got.Taken, 10256) || (err == nil && slices.Contains(free.Taken, 10256)) {
		t.Errorf("ports that are taken: %v, before %v", got.Taken, free.Taken)
	}
	if free.ReachError != "" || got.ReachError == "" {
		t.Errorf("nobody was to be reached, and it says %q; then nobody answered, and it says %q",
			free.ReachError, got.ReachError)
	}
}
