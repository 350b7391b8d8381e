package prog

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/winnet"
)

// TestRoutesOfPrograms makes and removes routes in the network namespace of TestNetwork in package winapi.
func TestRoutesOfPrograms(t *testing.T) {
	if os.Getenv("WINAPI_NETWORK") == "" {
		t.Skip("needs a network of its own")
	}
	eth0, err := net.InterfaceByName("eth0")
	if err != nil {
		t.Fatal(err)
	}

	of := func(prefix, hop string) winnet.Route {
		return winnet.Route{
			Index:  uint32(eth0.Index), // it is the kernel's
			Prefix: netip.MustParsePrefix(prefix),
			Hop:    netip.MustParseAddr(hop),
		}
	}

	// there reports whether Windows lists the route.
	there := func(r winnet.Route) bool {
		t.Helper()
		all, err := winnet.Routes()
		if err != nil {
			t.Fatal(err)
		}

		for _, other := range all {
			if other.Index == r.Index && other.Prefix == r.Prefix && other.Hop == r.Hop {
				return true
			}
		}

		return false
	}

	for _, r := range []winnet.Route{
		of("10.244.9.0/24", "192.0.2.9"), of("10.244.8.7/32", "192.0.2.8"), of("10.245.0.0/16", "0.0.0.0"),
		of("0.0.0.0/0", "192.0.2.254"),
	} {
		if err := winnet.AddRoute(r); err != nil || !there(r) {
			t.Errorf("%v: made %v, there %v", r, err, there(r))
		}
		if err := winnet.AddRoute(r); !errors.Is(err, windows.ERROR_OBJECT_ALREADY_EXISTS) {
			t.Errorf("%v a second time: %v", r, err)
		}
		if err := winnet.RemoveRoute(r); err != nil || there(r) {
			t.Errorf("%v: removed %v, there %v", r, err, there(r))
		}

		if err := winnet.RemoveRoute(r); !errors.Is(err, windows.ERROR_NOT_FOUND) {
			t.Errorf("%v removed a second time: %v", r, err)
		}
	}

	if err := winnet.AddRoute(of("10.244.9.0/24", "203.0.113.1")); err == nil {
		t.Error("a route by a router that cannot be reached was made")
	}
	other := of("10.244.9.0/24", "192.0.2.9")
	other.Index = 4711
	if err := winnet.AddRoute(other); err == nil {
		t.Error("a route by an interface that is not there was made")
	}
}
