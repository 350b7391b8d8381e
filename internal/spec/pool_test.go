package spec_test

import (
	"net/netip"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

func TestLast(t *testing.T) {
	for network, want := range map[string]string{
		"10.213.0.0/24":   "10.213.0.255",
		"10.213.0.224/28": "10.213.0.239",
		"10.213.0.17/20":  "10.213.15.255",
		"192.0.2.7/32":    "192.0.2.7",
		"0.0.0.0/0":       "255.255.255.255",
		"fd00:10::/64":    "fd00:10::ffff:ffff:ffff:ffff",
	} {
		if got := spec.Last(netip.MustParsePrefix(network)); got != netip.MustParseAddr(want) {
			t.Errorf("Last(%s) = %s, want %s", network, got, want)
		}
	}
}
