package single

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/wire"
)

func TestParseExposed(t *testing.T) {
	for text, want := range map[string][]Exposed{
		"80": {{80, wire.TCP}}, "80/tcp": {{80, wire.TCP}}, "53/UDP": {{53, wire.UDP}},
		"80-82": {{80, wire.TCP}, {81, wire.TCP}, {82, wire.TCP}}, "80-80/udp": {{80, wire.UDP}},
		"65535": {{65535, wire.TCP}}, "": nil, "0": nil, "65536": nil, "80/sctp": nil, "80/": nil, "82-80": nil, "-80": nil, "80-": nil,
		"80-81-82": nil, "+80": nil, "0x50": nil, "80 ": nil,
	} {
		got, err := ParseExposed(text)
		if diff := cmp.Diff(want, got); (err != nil) != (want == nil) || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}

	if all, err := ParseExposed("1-65535"); err != nil || len(all) != 65535 {
		t.Errorf("all: %d, %v", len(all), err)
	}
}

// TestPublished publishes what was asked for, and all that is exposed if that is asked for, once.
func TestPublished(t *testing.T) {
	own := nat.Port{
		Addr:      netip.MustParseAddr("192.0.2.1"),
		Host:      8080,
		Container: 80,
		Protocol:  wire.TCP,
	}

	any := func(port uint16, protocol wire.Protocol) nat.Port {
		return nat.Port{
			Addr:      Loopback(),
			Container: port,
			Protocol:  protocol,
		}
	}

	exposed := map[string]struct{}{"80/tcp": {}, "53/udp": {}, "443": {}}
	ask := Run{Ports: []nat.Port{own}, Expose: []Exposed{{53, wire.UDP}, {9, wire.TCP}}}
	for all, want := range map[bool][]nat.Port{
		false: {own},
		true:  {own, any(53, wire.UDP), any(9, wire.TCP), any(443, wire.TCP)},
	} {
		ask.PublishAll = all
		got, err := published(ask, exposed)
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); err != nil || diff != "" {
			t.Errorf("%v: %v\n%s", all, err, diff)
		}
	}

	for name, exposed := range map[string]map[string]struct{}{
		"what is no port": {"80/sctp": {}},
		"too many":        {"1-65535/tcp": {}},
		"too many again":  {"1-512/tcp": {}, "01-512/TCP": {}, "513": {}},
	} {
		_, err := published(Run{PublishAll: true}, exposed)
		if r, ok := errors.AsType[*Refusal](err); !ok || r.Code != CodeFailed || r.Remedy == "" {
			t.Errorf("an image that exposes %s: %v", name, err)
		}
		if got, err := published(Run{}, exposed); err != nil || len(got) > 0 {
			t.Errorf("%s, and nobody asks: %v, %v", name, got, err)
		}
	}

	many := Run{Ports: make([]nat.Port, mostPorts+1)}
	if _, err := published(many, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprint(mostPorts)) {
		t.Errorf("too many by name: %v", err)
	}
}
