package clusterdns

import (
	"net/netip"
	"strings"
	"testing"

	"gotest.tools/v3/golden"

	"mullion.dev/mullion/internal/controlplane/addon"
)

func sample() Config {
	return Config{
		Place: addon.Place{
			Program: "/opt/coredns",
			RunDir:  "/run/mullion/0",
			LogDir:  "/var/log",
			Netns:   "/run/netns/fabric",
		},
		Domain:  "cluster.local",
		PKIDir:  "/pki",
		Server:  "https://10.213.0.1:6443",
		Address: netip.MustParseAddr("10.213.0.1"),
	}
}

func TestCorefile(t *testing.T) {
	for _, tt := range []struct {
		golden    string
		upstreams []netip.Addr
		zones     []Zone
	}{
		{
			"upstreams.Corefile",
			[]netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::53")},
			nil,
		},
		{
			"zones.Corefile",
			[]netip.Addr{netip.MustParseAddr("192.0.2.1")},
			[]Zone{{"corp.example", []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.3")}}},
		},
		{"alone.Corefile", nil, nil},
	} {
		t.Run(tt.golden, func(t *testing.T) {
			golden.Assert(t, sample().Corefile(tt.upstreams, tt.zones), tt.golden)
		})
	}
}

// An API before discovery.k8s.io/v1 has no EndpointSlices that CoreDNS reads: without them it would answer nothing.
func TestCorefileOfOldAPI(t *testing.T) {
	old := sample()
	old.Version = "v1.20.15"
	text := old.Corefile(nil, nil)
	if !strings.Contains(text, "        noendpoints\n") {
		t.Errorf("1.20:\n%s", text)
	}
}

func TestCorefileForwardsToSoManyAtMost(t *testing.T) {
	many := make([]netip.Addr, maxUpstreams+1)
	for i := range many {
		many[i] = netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)})
	}
	text := sample().Corefile(many, nil)
	if !strings.Contains(text, "192.0.2.15 ") || strings.Contains(text, "192.0.2.16") {
		t.Errorf("want servers 1 to %d:\n%s", maxUpstreams, text)
	}
}

func TestValidate(t *testing.T) {
	if err := sample().Validate(); err != nil {
		t.Errorf("a whole configuration: %v", err)
	}
	c := sample()
	c.Address = netip.Addr{}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "Address") {
		t.Errorf("without an address: got %v", err)
	}
}
