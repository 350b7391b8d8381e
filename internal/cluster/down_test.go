package cluster

import (
	"testing"
	"time"
)

// Of many processes that were killed one after the other ends, for minutes; of one that hangs nothing does.
func TestWane(t *testing.T) {
	var w wane
	now := time.Now()
	for left := 100; left > 0; left-- {
		if w.stands(left, now) {
			t.Fatalf("with %d left nothing is believed to end", left)
		}
		now = now.Add(killPatience / 2)
	}

	for range 2 {
		if w.stands(1, now) {
			t.Fatal("the last one has had no time")
		}
		now = now.Add(killPatience / 4)
	}
	if now = now.Add(killPatience); !w.stands(1, now) {
		t.Error("one that does not end is waited for for ever")
	}
	if !w.stands(3, now) {
		t.Error("more than there were are taken for an end")
	}
}
