package gateway

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"

	"mullion.dev/mullion/internal/single/nat/wire"
)

// flowIdle is how long a flow of UDP is kept in which nothing comes: between the 30 seconds of one packet and the two
// minutes of a stream that Linux keeps them (nf_conntrack-sysctl.rst).
const flowIdle = time.Minute

// largestPacket is the largest packet of UDP over IPv4, in bytes.
const largestPacket = 65507

// forwardUDP begins a flow with the first packet of the container. For false the container is told that nobody is there
// (ICMP's port unreachable).
func (c *container) forwardUDP(r *udp.ForwarderRequest) bool {
	from, to := ends(r.ID())
	out, err := c.dialUDP(from, to)
	if err != nil {
		return false
	}
	if !c.flows.take() {
		_ = out.Close()
		return true // dropped
	}
	var queue waiter.Queue
	endpoint, failed := r.CreateEndpoint(&queue)
	if failed != nil {
		c.flows.free()
		_ = out.Close()
		return true
	}
	go func() {
		defer c.flows.free()
		c.flow(gonet.NewUDPConn(&queue, endpoint), out)
	}()
	return true
}

// dialUDP connects a socket for the container, as dial does for TCP.
func (c *container) dialUDP(from, to netip.AddrPort) (net.Conn, error) {
	if c.server.subnet.Contains(to.Addr()) {
		peer := c.server.peer(to.Addr())
		if peer == nil || peer == c {
			return nil, errNobody
		}
		return peer.dialInUDP(from.Addr(), to.Port())
	}
	if err := c.server.guard.check(to.Addr()); err != nil {
		return nil, err
	}
	return net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(to))
}

// dialInUDP connects a socket to a port of the container, which sees packets come from an address.
func (c *container) dialInUDP(from netip.Addr, port uint16) (net.Conn, error) {
	local, remote := at(netip.AddrPortFrom(from, 0)), at(netip.AddrPortFrom(c.addr, port))
	return gonet.DialUDP(c.stack, &local, &remote, ipv4.ProtocolNumber)
}

// flow carries packets both ways until none has come for a while.
func (c *container) flow(a, b net.Conn) {
	closing := sync.OnceFunc(func() {
		_ = a.Close()
		_ = b.Close()
	})
	defer context.AfterFunc(c.life, closing)()
	idle := time.AfterFunc(flowIdle, closing)
	defer idle.Stop()

	var both sync.WaitGroup
	carry := func(to, from net.Conn) {
		defer closing()
		buffer := make([]byte, largestPacket)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			idle.Reset(flowIdle)
			_, _ = to.Write(buffer[:n]) // as lost on the way
		}
	}
	both.Go(func() { carry(a, b) })
	both.Go(func() { carry(b, a) })
	both.Wait()
}

// serveUDP leads the packets that come to a published port to the container, a flow for each client.
func (c *container) serveUDP(file *os.File, port uint16) error {
	packets, err := net.FilePacketConn(file)
	if err != nil {
		return err
	}
	socket, ok := packets.(*net.UDPConn)
	if !ok {
		return errors.Join(errors.New("it is no socket of UDP"), packets.Close())
	}
	if !c.keep(socket) {
		return net.ErrClosed
	}
	p := &publishedUDP{container: c, socket: socket, port: port, clients: map[netip.AddrPort]net.Conn{}}
	go func() {
		defer c.drop(socket)
		p.serve()
	}()
	return nil
}

// publishedUDP is a published port of UDP.
type publishedUDP struct {
	container *container
	socket    *net.UDPConn
	port      uint16

	mu      sync.Mutex
	clients map[netip.AddrPort]net.Conn
}

func (p *publishedUDP) serve() {
	buffer := make([]byte, largestPacket)
	for {
		n, client, err := p.socket.ReadFromUDPAddrPort(buffer)
		if err != nil {
			if !p.container.pause(err) {
				return
			}
			continue
		}
		if inside := p.inside(client); inside != nil {
			_, _ = inside.Write(buffer[:n]) // as lost on the way
		}
	}
}

// inside is the socket by which a client's packets go to the container, nil if there are too many.
func (p *publishedUDP) inside(client netip.AddrPort) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if conn := p.clients[client]; conn != nil {
		return conn
	}
	if !p.container.flows.take() {
		return nil
	}
	conn, err := p.container.dialInUDP(p.container.server.gateway, p.port)
	if err != nil {
		p.container.flows.free()
		return nil
	}
	p.clients[client] = conn
	go p.answers(client, conn)
	return conn
}

// answers carries the container's packets to a client, until none has come for a while.
func (p *publishedUDP) answers(client netip.AddrPort, inside net.Conn) {
	defer p.container.flows.free()
	stop := context.AfterFunc(p.container.life, func() { _ = inside.Close() })
	defer stop()
	buffer := make([]byte, largestPacket)
	for {
		_ = inside.SetReadDeadline(time.Now().Add(flowIdle)) // a stack's sockets have deadlines
		n, err := inside.Read(buffer)
		if err != nil {
			break
		}
		_, _ = p.socket.WriteToUDPAddrPort(buffer[:n], client) // as lost on the way
	}
	p.mu.Lock()
	delete(p.clients, client)
	p.mu.Unlock()
	_ = inside.Close()
}

// publish leads a port of the machine, by its socket, to the container.
func (c *container) publish(p wire.Publish, socket *os.File) error {
	switch p.Protocol {
	case wire.TCP:
		return c.serveTCP(socket, p.Port)
	case wire.UDP:
		return c.serveUDP(socket, p.Port)
	}
	return errors.New("a port is neither of TCP nor of UDP")
}
