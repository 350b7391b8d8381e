package places_test

import (
	"testing"

	"mullion.dev/mullion/internal/base/places"
)

// One client alone has half of the places, and the next half of the rest; what is given back is free for all.
func TestShares(t *testing.T) {
	p := places.New[string](16)
	take := func(client string) (n int) {
		for p.Take(client) {
			n++
		}
		return n
	}

	if first, second := take("a"), take("b"); first != 8 || second != 4 {
		t.Errorf("the first has %d of 16, the second %d", first, second)
	}

	for range 8 {
		p.Give("a")
	}
	if n := take("c"); n != 6 {
		t.Errorf("of 12 free places one client has %d", n)
	}
}
