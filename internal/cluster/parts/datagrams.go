package parts

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// mostFlows bounds the clients of a UDP port at a time; datagrams of further ones are dropped.
	mostFlows = 512
	// flowIdle is how long nothing need pass before a client is forgotten; Linux' table of connections has as long for
	// one that had an answer (nf_conntrack_udp_timeout_stream).
	flowIdle = 120 * time.Second
	// mostDatagram is the size of the largest datagram of UDP, in bytes.
	mostDatagram = 65535
)

// datagrams copies datagrams between the clients of a UDP port and a server, which sees each client at a port of its
// own.
type datagrams struct {
	local *net.UDPConn
	to    netip.AddrPort
	log   *slog.Logger
	done  sync.WaitGroup

	mu    sync.Mutex
	flows map[netip.AddrPort]*net.UDPConn // nil when it is closed
}

// startDatagrams serves the address at until Close. ctx bounds the start.
func startDatagrams(ctx context.Context, at, to netip.AddrPort, log *slog.Logger) (*datagrams, error) {
	l, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", at.String())
	if err != nil {
		return nil, inUse(err)
	}
	d := &datagrams{
		local: l.(*net.UDPConn), // what the network udp has
		to:    to,
		log:   log,
		flows: map[netip.AddrPort]*net.UDPConn{},
	}
	d.done.Go(d.serve)
	return d, nil
}

// Close ends the port and all flows.
func (d *datagrams) Close() error {
	err := d.local.Close()
	d.mu.Lock()
	for _, c := range d.flows {
		_ = c.Close() // its goroutine may have done so
	}
	d.flows = nil
	d.mu.Unlock()
	d.done.Wait()
	return err
}

func (d *datagrams) serve() {
	buffer := make([]byte, mostDatagram)
	for {
		n, from, err := d.local.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // a client that has gone answers by ICMP
		}

		server, err := d.flow(from)
		if err != nil {
			d.log.Debug("a datagram was dropped", "from", from.String(), "error", err)
			continue
		}
		_ = server.SetReadDeadline(time.Now().Add(flowIdle))
		_, _ = server.Write(buffer[:n]) // UDP promises nothing
	}
}

// flow returns the connection to the server of a client.
func (d *datagrams) flow(client netip.AddrPort) (*net.UDPConn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.flows[client]; c != nil {
		return c, nil
	}
	if d.flows == nil || len(d.flows) >= mostFlows {
		return nil, errors.New("there are too many clients")
	}

	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(d.to))
	if err != nil {
		return nil, err
	}
	_ = c.SetReadDeadline(time.Now().Add(flowIdle))
	d.flows[client] = c
	d.done.Go(func() { d.answer(client, c) })
	return c, nil
}

// answer sends a client what the server has for it, until nothing has passed for a while.
func (d *datagrams) answer(client netip.AddrPort, server *net.UDPConn) {
	defer func() {
		_ = server.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.flows, client)
	}()

	buffer := make([]byte, mostDatagram)
	for {
		n, err := server.Read(buffer)
		if netErr, ok := errors.AsType[net.Error](err); errors.Is(err, net.ErrClosed) || (ok && netErr.Timeout()) {
			return
		}
		if err != nil {
			continue // the server's port is closed: it may be open for the next datagram
		}
		_ = server.SetReadDeadline(time.Now().Add(flowIdle))
		_, _ = d.local.WriteToUDPAddrPort(buffer[:n], client)
	}
}
