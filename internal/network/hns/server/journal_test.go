package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

func call(t *testing.T, s *Service, function, object string, text ...string) hns.Reply {
	t.Helper()
	r, err := s.Call(t.Context(), hns.Request{
		Function: function,
		Object:   object,
		Text:     text,
	})
	if err != nil {
		t.Fatalf("%s: %v", function, err)
	}
	return r
}

const l2bridge = `{"Name":"cbr0","Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.244.1.0/24"}]}]}`

func remote(i int) string {
	return fmt.Sprintf(`{"Flags":1,"IpConfigurations":[{"IpAddress":"10.9.%d.%d"}]}`, i>>8, i&255)
}

func balancer(endpoint string, port int) string {
	return fmt.Sprintf(
		`{"HostComputeEndpoints":[%q],"FrontendVIPs":["10.96.0.1"],"PortMappings":[{"Protocol":6,"InternalPort":1,"ExternalPort":%d}]}`, endpoint, port)
}

// A crash may cut the file at any byte behind what Open wrote: then the calls whose lines are complete are there, and
// no others.
func TestStateCutAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns", "state.json")
	s, _ := open(t, path)
	size := func() int {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return len(data)
	}

	start := size()
	plans := map[int]string{start: dataplane.Dump(s.Plan())} // by the size of the file
	note := func() { plans[size()] = dataplane.Dump(s.Plan()) }
	net := call(t, s, "HcnCreateNetwork", "", l2bridge).Object
	note()
	ep := call(t, s, "HcnCreateEndpoint", net, `{}`).Object
	note()
	ns := call(t, s, "HcnCreateNamespace", "", `{"Type":"Host"}`).Object

	note()
	call(t, s, "HcnModifyNamespace", ns,
		fmt.Sprintf(`{"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":%q}}`, ep))
	note()
	call(t, s, "HcnCreateLoadBalancer", "", balancer(ep, 80))
	note()
	call(t, s, "HcnDeleteEndpoint", ep)
	note()

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(plans) != 7 {
		t.Fatalf("%d states in a file of %d bytes", len(plans), len(data))
	}

	want := ""
	for cut := start; cut <= len(data); cut++ {
		if p, ok := plans[cut]; ok {
			want = p
		}

		torn, fake := bytes.Clone(data[:cut]), &dataplane.Fake{}
		cfg := Config{
			Model:     s.cfg.Model,
			Store:     memory{&torn},
			DataPlane: fake,
			Log:       slog.New(slog.DiscardHandler),
		}

		again, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := fake.Dump(); got != want {
			t.Fatalf("cut at %d of %d:\n%swant\n%s", cut, len(data), got, want)
		}

		if cut%97 == 0 { // what follows a torn line is read again
			made := call(t, again, "HcnCreateNamespace", "", `{}`)
			third, err := Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			call(t, third, "HcnOpenNamespace", made.Object)
		}
	}

	for name, damaged := range map[string][]byte{
		"in-the-middle": bytes.Replace(data, []byte(`"kind":"Network"`), []byte(`"kind":"Net`), 1),
		"empty":         {},
		"newer":         []byte("{\"version\":3}\n"),
	} {
		_, err := Open(t.Context(), Config{
			Store:     memory{&damaged},
			DataPlane: &dataplane.Fake{},
			Log:       slog.New(slog.DiscardHandler),
		})
		if err == nil {
			t.Errorf("state damaged %s was taken", name)
		}
	}
}

// memory is a Store without a disk.
type memory struct{ data *[]byte }

func (m memory) Load() ([]byte, error)    { return *m.data, nil }
func (m memory) Replace(d []byte) error   { *m.data = bytes.Clone(d); return nil }
func (m memory) Append(line []byte) error { *m.data = append(*m.data, line...); return nil }

// failing is a Store that writes half of a line and then fails, once.
type failing struct {
	memory
	fail *bool
}

func (f failing) Append(line []byte) error {
	if *f.fail {
		*f.fail = false
		*f.data = append(*f.data, line[:len(line)/2]...)
		return errors.New("no space")
	}
	return f.memory.Append(line)
}

func TestDiskFull(t *testing.T) {
	var data []byte
	fail := false
	store := failing{memory{&data}, &fail}
	fake := &dataplane.Fake{}
	cfg := Config{
		Store:     store,
		DataPlane: fake,
		Log:       slog.New(slog.DiscardHandler),
	}

	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}

	before := fake.Dump()
	fail = true
	if _, err := s.Call(t.Context(), hns.Request{
		Function: "HcnCreateNamespace",
		Text:     []string{`{}`},
	}); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Errorf("err = %v", err)
	}

	if got := fake.Dump(); got != before {
		t.Errorf("what could not be written stays in the kernel:\n%s", got)
	}
	made := call(t, s, "HcnCreateNamespace", "", `{}`)
	again, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	call(t, again, "HcnOpenNamespace", made.Object)
}

func TestJournalIsWrittenAnew(t *testing.T) {
	var data []byte
	s, err := Open(t.Context(), Config{
		Store:     memory{&data},
		DataPlane: &dataplane.Fake{},
		Log:       slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}

	long := strings.Repeat("x", 200<<10)
	largest := 0
	for range 60 {
		made := call(t, s, "HcnCreateEndpoint", networkOf(t, s), `{"Name":"`+long+`"}`)
		largest = max(largest, len(data))
		call(t, s, "HcnDeleteEndpoint", made.Object)
	}
	if largest < compactAt || largest > compactAt+compactAt/2 || len(data) > compactAt {
		t.Errorf("the file grew to %d bytes and is %d; it is to be written anew at %d", largest, len(data), compactAt)
	}
}

func networkOf(t *testing.T, s *Service) string {
	t.Helper()
	list := call(t, s, "HcnEnumerateNetworks", "").Text
	if list == "[]" {
		s.cfg.Model.Adapters = []string{"Ethernet"}
		return call(t, s, "HcnCreateNetwork", "", `{"Name":"nat","Type":"NAT"}`).Object
	}
	return strings.Trim(list, `[]"`)
}

// Load balancers follow soon after the call, many at once and in order; a call that needs the kernel at once takes
// along those that wait.
func TestBalancersFollow(t *testing.T) {
	s, fake := open(t, filepath.Join(t.TempDir(), "state.json"))
	net := call(t, s, "HcnCreateNetwork", "", l2bridge).Object
	ep := call(t, s, "HcnCreateEndpoint", net, remote(1)).Object
	var ids []string
	for i := range 200 {
		ids = append(ids, call(t, s, "HcnCreateLoadBalancer", "", balancer(ep, 1000+i)).Object)
	}

	for _, id := range ids[:100] {
		call(t, s, "HcnDeleteLoadBalancer", id)
	}

	until(t, func() bool {
		return fake.Dump() == dataplane.Dump(s.Plan()) && strings.Count(fake.Dump(), "lb ") == 100
	})
	made := call(t, s, "HcnCreateLoadBalancer", "", balancer(ep, 2000)).Object
	call(t, s, "HcnCreateNamespace", "", `{}`)
	if !strings.Contains(fake.Dump(), made) {
		t.Error("a call that was applied at once left behind what waited")
	}

	pod := call(t, s, "HcnCreateEndpoint", net,
		`{"Policies":[{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8080}}]}`).Object
	ns := call(t, s, "HcnCreateNamespace", "", `{}`).Object
	call(t, s, "HcnModifyNamespace", ns,
		fmt.Sprintf(`{"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":%q}}`, pod))
	if !strings.Contains(fake.Dump(), "lb "+pod) {
		t.Errorf("a pod is attached without its host port:\n%s", fake.Dump())
	}

	fake.Err = errors.New("not now")
	call(t, s, "HcnDeleteLoadBalancer", ids[151])
	s.Flush(t.Context())
	if !strings.Contains(fake.Dump(), ids[151]) {
		t.Error("the step that failed was taken")
	}
	if err := s.Repair(t.Context()); err != nil || fake.Dump() != dataplane.Dump(s.Plan()) {
		t.Errorf("repair after a failed step: %v", err)
	}
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(60 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline.C:
			t.Fatal("not within 60 s")
		case <-tick.C:
		}
	}
}

func TestRestart(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	path := filepath.Join(t.TempDir(), "state.json")
	s, fake := open(t, path)
	net := call(t, s, "HcnCreateNetwork", "", l2bridge).Object
	lb := call(t, s, "HcnCreateLoadBalancer", "",
		balancer(call(t, s, "HcnCreateEndpoint", net, remote(1)).Object, 80)).Object
	fake.Forget()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := fake.Dump(); got != dataplane.Dump(s.Plan()) || !strings.Contains(got, lb) ||
		!strings.Contains(got, net) {
		t.Errorf("after the restart:\n%s", got)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	made := call(t, s, "HcnCreateNamespace", "", `{}`).Object
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	if strings.Contains(fake.Dump(), made) {
		t.Error("what is not on disk is still there after the restart")
	}

	if _, err := s.Call(t.Context(), hns.Request{Function: "HcnOpenNamespace", Object: made}); err == nil {
		t.Error("what is not on disk is still answered after the restart")
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err == nil {
		t.Error("restarted with a damaged state")
	}

	call(t, s, "HcnOpenNetwork", net) // the state that it had
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Error(err)
	}
}

// Thousands of calls at once, with restarts and repairs among them: in the end kernel and disk are as the plan says.
func TestManyAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	path := filepath.Join(t.TempDir(), "state.json")
	s, fake := open(t, path)
	net := call(t, s, "HcnCreateNetwork", "", l2bridge).Object
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			for j := range 25 {
				n := 25*i + j
				ep, err := s.Call(t.Context(), hns.Request{
					Function: "HcnCreateEndpoint",
					Object:   net,
					Text:     []string{remote(n)},
				})
				if err != nil {
					t.Error(err)
					return
				}

				if _, err := s.Call(t.Context(), hns.Request{
					Function: "HcnCreateLoadBalancer",
					Text:     []string{balancer(ep.Object, 1000+n)},
				}); err != nil {
					t.Error(err)
				}

				if _, err := s.Call(t.Context(), hns.Request{
					Function: "HcnCreateNamespace",
					Text:     []string{`{}`},
				}); err != nil {
					t.Error(err)
				}

				switch {
				case n%300 == 0:
					if err := s.Restart(t.Context()); err != nil {
						t.Error(err)
					}
				case n%200 == 0:
					if err := s.Repair(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}

	wg.Wait()
	s.Flush(t.Context())
	want := dataplane.Dump(s.Plan())
	if got := fake.Dump(); got != want || strings.Count(got, "lb ") != 1000 ||
		strings.Count(got, "namespace ") != 1000 {
		t.Errorf("the kernel has %d load balancers and %d namespaces, as planned: %v", strings.Count(got, "lb "),
			strings.Count(got, "namespace "), got == want)
	}

	_, again := open(t, path)
	if again.Dump() != want {
		t.Error("the state on disk is another")
	}
}

// BenchmarkCall measures a call with everything but a kernel: model, journal on disk, coalescing.
func BenchmarkCall(b *testing.B) {
	s, err := Open(context.WithoutCancel(b.Context()), Config{
		Model: hns.Config{
			Version:   wire.Version{Major: 16},
			Adapters:  []string{"Ethernet"},
			Addresses: []netip.Addr{netip.MustParseAddr("192.168.0.5")},
		},
		Store:     FileStore{Path: filepath.Join(b.TempDir(), "state.json")},
		DataPlane: nothing{},
		Log:       slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}

	must := func(r hns.Reply, err error) string {
		if err != nil {
			b.Fatal(err)
		}
		return r.Object
	}

	do := func(function, object, text string) string {
		return must(s.Call(b.Context(), hns.Request{
			Function: function,
			Object:   object,
			Text:     []string{text},
		}))
	}

	net := do("HcnCreateNetwork", "", l2bridge)
	var eps []string
	for i := range 20000 {
		eps = append(eps, do("HcnCreateEndpoint", net, remote(i)))
	}

	for i := range 5000 {
		do("HcnCreateLoadBalancer", "", balancer(eps[i], 1+i))
	}

	b.Run("create-and-delete-balancer", func(b *testing.B) {
		for b.Loop() {
			do("HcnDeleteLoadBalancer", do("HcnCreateLoadBalancer", "", balancer(eps[7], 65000)), "")
		}
	})

	b.Run("create-and-delete-endpoint", func(b *testing.B) {
		for b.Loop() {
			do("HcnDeleteEndpoint", do("HcnCreateEndpoint", net, remote(65000)), "")
		}
	})

	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			do("HcnOpenEndpoint", eps[7], "")
		}
	})
}

// nothing is a data plane that takes no time.
type nothing struct{}

func (nothing) Apply(context.Context, netplan.Plan) error         { return nil }
func (nothing) ApplyChange(context.Context, netplan.Change) error { return nil }
func (nothing) Stats(context.Context, string) (netplan.Stats, error) {
	return netplan.Stats{}, nil
}
func (nothing) Differences(context.Context, netplan.Plan) ([]string, error) { return nil, nil }
func (nothing) HoldPorts(netplan.HeldPorts) (io.Closer, error)              { return io.NopCloser(nil), nil }
