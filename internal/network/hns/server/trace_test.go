package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// TestTrace: who traces is told of programs' calls, with what became of them; calls do not wait for one who does not
// read, and he is told how many he has missed.
func TestTrace(t *testing.T) {
	served := serveOpen(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	calls := served.Trace(ctx)
	c := dial(t, served.addr, "secret")
	next := func() hns.TracedCall {
		t.Helper()
		call, more := <-calls
		if !more {
			t.Fatal("the trace has ended")
		}
		return call
	}

	if code, _, err := ask(c, frameOf("HcnCreateNamespace", nil, nil, `{"Type":"Host"}`)); err != nil || code != wire.OK {
		t.Fatalf("0x%08x %v", uint32(code), err)
	}
	if got := next(); got.Function != "HcnCreateNamespace" || got.Made == "" || got.Error != "" ||
		got.Text[0] != `{"Type":"Host"}` ||
		got.Took <= 0 || got.Client != c.LocalAddr().String() {
		t.Errorf("%+v", got)
	}

	if _, _, err := ask(c, frameOf("HcnOpenNetwork", encodeGUID(id), nil)); err != nil {
		t.Fatal(err)
	}
	if got := next(); got.Error == "" || !strings.EqualFold(got.Object, id) {
		t.Errorf("%+v", got)
	}

	const missed = 5
	for range mostTraced + missed {
		if _, _, err := ask(c, frameOf("HcnEnumerateNetworks", nil, nil, "")); err != nil {
			t.Fatal(err)
		}
	}

	for range mostTraced {
		next()
	}

	if _, _, err := ask(c, frameOf("HcnEnumerateNetworks", nil, nil, strings.Repeat("x", 2*mostOfTrace))); err != nil {
		t.Fatal(err)
	}
	if got := next(); got.Dropped != missed || len(got.Text[0]) > mostOfTrace+4 {
		t.Errorf("%d missed, %d bytes of text", got.Dropped, len(got.Text[0]))
	}
	cancel()
	for range calls { // it ends
	}
}
