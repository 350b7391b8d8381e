package parts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
)

// interfaces are those of a test's machine, and what was protected of them.
type interfaces struct {
	mu        sync.Mutex
	at        []netip.Addr
	err       error // of reading and of protecting
	protected []string
	calls     int
	look      chan struct{}
}

// has changes the machine, and waits until that was looked at twice: after the second look the first is over.
func (i *interfaces) has(err error, all ...string) {
	i.mu.Lock()
	i.at, i.err = nil, err
	for _, a := range all {
		i.at = append(i.at, netip.MustParseAddr(a))
	}
	i.mu.Unlock()
	i.look <- struct{}{}
	i.look <- struct{}{}
}

func (i *interfaces) addresses() ([]netip.Addr, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.at), i.err
}

func (i *interfaces) watch(ctx context.Context, look func(), told func(error)) {
	told(errors.New("the kernel tells nothing"))
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.look:
			look()
		}
	}
}

func (i *interfaces) protect(_ context.Context, all []netip.Addr) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return i.err
	}
	i.protected, i.calls = nil, i.calls+1
	for _, a := range all {
		i.protected = append(i.protected, a.String())
	}
	return nil
}

func (i *interfaces) expect(t *testing.T, calls int, want ...string) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Equal(i.protected, want) || i.calls != calls {
		t.Errorf("protected %d times, %q; want %d times, %q", i.calls, i.protected, calls, want)
	}
}

// Addresses that the machine gets are protected when they come, those that it loses are free again, and those of
// machines that join are beside them. What failed is tried again, and said once.
func TestOwnAddresses(t *testing.T) {
	i, j := &interfaces{look: make(chan struct{}), at: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}, &journal{}
	o := &OwnAddresses{
		Interfaces: i.addresses,
		Watch:      i.watch,
		Protect:    i.protect,
		Log:        j.log(),
	}

	if err := o.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.expect(t, 1, "192.0.2.1")

	i.has(nil, "192.0.2.1")
	i.expect(t, 1, "192.0.2.1")
	i.has(nil, "192.0.2.1", "2001:db8::1", "172.17.0.1", "172.17.0.1")
	i.expect(t, 2, "172.17.0.1", "192.0.2.1", "2001:db8::1")

	machines := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	if err := o.SetMachines(t.Context(), machines); err != nil {
		t.Fatal(err)
	}
	i.expect(t, 3, "172.17.0.1", "192.0.2.1", "192.0.2.2", "2001:db8::1")

	i.has(errors.New("no answer"))
	i.expect(t, 3, "172.17.0.1", "192.0.2.1", "192.0.2.2", "2001:db8::1")
	if err := o.SetMachines(t.Context(), machines[1:]); err == nil {
		t.Error("nothing says that the machines are not protected")
	}
	i.has(nil, "192.0.2.7")
	i.expect(t, 4, "192.0.2.2", "192.0.2.7")

	if err := o.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if said := j.count("protect the machine's own addresses"); said != 1 {
		t.Errorf("the failure is said %d times", said)
	}
}

// A cluster does not come up with addresses that nobody protects.
func TestOwnAddressesDoNotStart(t *testing.T) {
	i := &interfaces{err: fmt.Errorf("no answer")}
	o := &OwnAddresses{
		Interfaces: i.addresses,
		Watch:      i.watch,
		Protect:    i.protect,
		Log:        (&journal{}).log(),
	}
	if err := o.Start(t.Context()); err == nil {
		t.Error("it starts")
	}
	if err := o.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
