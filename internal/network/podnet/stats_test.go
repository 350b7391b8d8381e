package podnet_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/podnet"
)

// What HNS has counted of a pod's endpoint is told as that of its interface, each counter in its place. Counters that
// cannot be had are an error, as are those of a pod that HNS does not know.
func TestStats(t *testing.T) {
	w := ways()[1]
	r, n := w.open(t)
	r.prepare(t, w, n)
	if _, err := n.Setup(t.Context(), podA()); err != nil {
		t.Fatal(err)
	}

	r.counted = &wire.V1Stats{
		BytesReceived:          1,
		BytesSent:              2,
		DroppedPacketsIncoming: 3,
		DroppedPacketsOutgoing: 4,
	}

	got, err := n.Stats(t.Context(), podA())
	if err != nil || len(got) != 1 || got[0].Name == "" || got[0].Endpoint == "" {
		t.Fatal(got, err)
	}

	want := []podnet.InterfaceStats{{
		Name:      got[0].Name,
		Endpoint:  got[0].Endpoint,
		RxBytes:   1,
		TxBytes:   2,
		RxDropped: 3,
		TxDropped: 4,
	}}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}

	r.failing["HNSCall GET"] = true
	if got, err := n.Stats(t.Context(), podA()); err == nil || !strings.Contains(err.Error(), podA().Name) {
		t.Errorf("counters that cannot be had: %v, %v", got, err)
	}
	r.loseHNS()
	if got, err := n.Stats(t.Context(), podA()); err == nil {
		t.Errorf("a pod that HNS does not know has counters: %v", got)
	}
}
