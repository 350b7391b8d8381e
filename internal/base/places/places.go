// Package places shares a number of places between clients, so that a greedy one leaves others some.
package places

import "sync"

// Places are shared by clients. One has as many as it holds while more than that are free: alone half of them, and
// whoever comes next has some.
type Places[Client comparable] struct {
	mu   sync.Mutex
	free int
	held map[Client]int
}

// New returns places that are all free.
func New[Client comparable](all int) *Places[Client] {
	return &Places[Client]{free: all, held: map[Client]int{}}
}

// Take gives a client a place, if it may have one more.
func (p *Places[Client]) Take(client Client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[client] >= p.free {
		return false
	}
	p.held[client]++
	p.free--
	return true
}

// Give takes a place back.
func (p *Places[Client]) Give(client Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free++
	if p.held[client]--; p.held[client] == 0 {
		delete(p.held, client)
	}
}
