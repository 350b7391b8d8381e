package ipnet

import (
	"net"
	"net/netip"
	"testing"
)

func TestBothWays(t *testing.T) {
	for _, text := range []string{"10.0.0.7/24", "0.0.0.0/0", "192.0.2.1/32", "fd00::7/64", "::/0", "fd00::1/128"} {
		p := netip.MustParsePrefix(text)
		if got, ok := Prefix(Of(p)); !ok || got != p {
			t.Errorf("%s became %s, %v", p, got, ok)
		}
	}
}

func TestPrefix(t *testing.T) {
	long := net.ParseIP("192.0.2.1") // 16 bytes
	for name, tt := range map[string]struct {
		n    *net.IPNet
		want string
	}{
		"ipv4-in-ipv6":      {&net.IPNet{IP: long, Mask: net.CIDRMask(24, 32)}, "192.0.2.1/24"},
		"nil":               {nil, ""},
		"no-address":        {&net.IPNet{Mask: net.CIDRMask(24, 32)}, ""},
		"mask-of-ipv6":      {&net.IPNet{IP: long.To4(), Mask: net.CIDRMask(64, 128)}, ""},
		"mask-with-holes":   {&net.IPNet{IP: long.To4(), Mask: net.IPMask{255, 0, 255, 0}}, ""},
		"ipv6-mask-of-four": {&net.IPNet{IP: net.ParseIP("fd00::1"), Mask: net.CIDRMask(24, 32)}, ""},
	} {
		got, ok := Prefix(tt.n)
		if ok != (tt.want != "") || (ok && got.String() != tt.want) {
			t.Errorf("%s: %s, %v", name, got, ok)
		}
	}
}
