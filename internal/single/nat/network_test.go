package nat

import (
	"net/netip"
	"testing"
)

// TestPlace holds that an address is not given again at once, that all but the gateway's, the subnet's and that for
// broadcasts are given, and nobody gets another's.
func TestPlace(t *testing.T) {
	n := New(Config{})
	n.subnet = netip.MustParsePrefix("192.0.2.1/29")
	given := func(id string) string {
		t.Helper()
		m := &Member{Container: Container{ID: id}, network: n}
		if err := n.place(m); err != nil {
			return err.Error()
		}
		return m.Addr.String()
	}

	leave := func(id string) { delete(n.members, id) }

	if got := given("a"); got != "192.0.2.2" {
		t.Errorf("the first gets %s", got)
	}
	leave("a")
	for _, id := range []string{"b", "c", "d", "e"} {
		if got := given(id); got == "192.0.2.2" {
			t.Errorf("%s gets the address that has just been free", id)
		}
	}

	if got := given("f"); got != "192.0.2.2" {
		t.Errorf("when no other is left: %s", got)
	}
	const full = "connect to the network: all addresses are taken"
	if got := given("g"); got != full {
		t.Errorf("one too many: %s", got)
	}

	leave("d")
	if got := given("h"); got != "192.0.2.5" {
		t.Errorf("the only one that is free: %s", got)
	}
}
