package dnsproxy

import (
	"net"
	"net/netip"
	"sync"
)

// places are shared by clients. One has as many as it holds while more than that are free: alone half of them, and
// whoever comes next has some.
type places struct {
	mu   sync.Mutex
	free int
	held map[netip.Addr]int
}

func newPlaces(all int) *places { return &places{free: all, held: map[netip.Addr]int{}} }

// take gives a client a place, if it may have one more.
func (p *places) take(client netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[client] >= p.free {
		return false
	}
	p.held[client]++
	p.free--
	return true
}

// give takes a place back.
func (p *places) give(client netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free++
	if p.held[client]--; p.held[client] == 0 {
		delete(p.held, client)
	}
}

// clientOf returns who sent something: all of one link's clients are one if they have no address.
func clientOf(from net.Addr) netip.Addr {
	switch a := from.(type) {
	case *net.UDPAddr:
		return a.AddrPort().Addr().Unmap()
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
