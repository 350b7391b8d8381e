package clusterdns

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

func sample() Config {
	return Config{
		Program: "/opt/coredns", RunDir: "/run/mullion/0", LogDir: "/var/log", Domain: "cluster.local", PKIDir: "/pki",
		Server: "https://10.213.0.1:6443", Address: netip.MustParseAddr("10.213.0.1"),
	}
}

func TestCorefile(t *testing.T) {
	for _, tt := range []struct {
		golden    string
		upstreams []netip.Addr
		zones     []Zone
	}{
		{"upstreams.Corefile", []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::53")}, nil},
		{"zones.Corefile", []netip.Addr{netip.MustParseAddr("192.0.2.1")}, []Zone{{"corp.example", []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.3")}}}},
		{"alone.Corefile", nil, nil},
	} {
		t.Run(tt.golden, func(t *testing.T) {
			path := filepath.Join("testdata", tt.golden)
			got := sample().Corefile(tt.upstreams, tt.zones)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
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
