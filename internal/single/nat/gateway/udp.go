package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
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

// packets are buffers for the largest packet. A flow holds one only while a packet is on its way: most of the time
// nothing is.
//
//nolint:gochecknoglobals // The memory is the process's.
var packets = sync.Pool{New: func() any { return new([largestPacket]byte) }}

// datagrams is a connection of UDP, of the machine or of a stack.
type datagrams interface {
	io.WriteCloser
	// receive waits for the next packet, and passes it to a function that does not keep it.
	receive(use func(packet []byte)) error
}

// outsideUDP is a connection by a socket of the machine.
type outsideUDP struct {
	*net.UDPConn
	raw syscall.RawConn
}

func (o *outsideUDP) receive(use func(packet []byte)) error {
	var failed error
	err := o.raw.Read(func(fd uintptr) bool {
		buffer := packets.Get().(*[largestPacket]byte) //nolint:forcetypeassert // there is nothing else in it
		defer packets.Put(buffer)
		var n int
		if n, failed = unix.Read(int(fd), buffer[:]); failed == nil {
			use(buffer[:n])
		}
		return !errors.Is(failed, unix.EAGAIN)
	})
	return errors.Join(err, failed)
}

// Write sends a packet, or drops it if the machine has too many to send: whoever waits here has packets wait in the
// stack, which counts their bytes and not what each takes beside.
func (o *outsideUDP) Write(packet []byte) (n int, err error) {
	failed := o.raw.Write(func(fd uintptr) bool {
		n, err = unix.Write(int(fd), packet)
		return true
	})
	return n, errors.Join(failed, err)
}

// insideUDP is a connection of a container's stack. It has one reader.
type insideUDP struct {
	*gonet.UDPConn
	endpoint tcpip.Endpoint
	entry    waiter.Entry
	notice   <-chan struct{}
}

func newInsideUDP(queue *waiter.Queue, endpoint tcpip.Endpoint) *insideUDP {
	i := &insideUDP{UDPConn: gonet.NewUDPConn(queue, endpoint), endpoint: endpoint}
	i.entry, i.notice = waiter.NewChannelEntry(waiter.ReadableEvents | waiter.EventErr)
	queue.EventRegister(&i.entry)
	return i
}

func (i *insideUDP) receive(use func(packet []byte)) error {
	for i.endpoint.Readiness(waiter.ReadableEvents|waiter.EventErr) == 0 {
		<-i.notice
	}
	buffer := packets.Get().(*[largestPacket]byte) //nolint:forcetypeassert // there is nothing else in it
	defer packets.Put(buffer)
	n, err := i.Read(buffer[:])
	if err != nil {
		return err
	}
	use(buffer[:n])
	return nil
}

// forwardUDP begins a flow with the first packet of the container. For false the container is told that nobody is there
// (ICMP's port unreachable).
func (c *container) forwardUDP(r *udp.ForwarderRequest) bool {
	if !c.flowsOut.take() {
		return true // dropped, before anything is asked of the machine
	}
	from, to := ends(r.ID())
	out, err := c.dialUDP(from, to)
	if err != nil {
		c.flowsOut.free()
		return errors.Is(err, errBusy)
	}

	queue := &waiter.Queue{}
	endpoint, failed := r.CreateEndpoint(queue)
	if failed != nil {
		c.flowsOut.free()
		_ = out.Close()
		return true
	}

	go func() {
		defer c.flowsOut.free()
		c.flow(newInsideUDP(queue, endpoint), out)
	}()
	return true
}

// dialUDP connects a socket for the container, as dial does for TCP.
func (c *container) dialUDP(from, to netip.AddrPort) (datagrams, error) {
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
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return nil, err
	}

	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &outsideUDP{conn, raw}, nil
}

// incomingUDP is a flow that comes in, which has a slot until it is closed.
type incomingUDP struct {
	*insideUDP
	free func()
}

// Close ends the flow. It is safe to repeat.
func (i *incomingUDP) Close() error {
	err := i.insideUDP.Close()
	i.free()
	return err
}

// dialInUDP connects a socket to a port of the container, which sees packets come from an address.
func (c *container) dialInUDP(from netip.Addr, port uint16) (datagrams, error) {
	if !c.flowsIn.take() {
		return nil, errBusy
	}
	queue := &waiter.Queue{}
	endpoint, failed := c.stack.NewEndpoint(udp.ProtocolNumber, ipv4.ProtocolNumber, queue)
	if failed != nil {
		c.flowsIn.free()
		return nil, errors.New(failed.String())
	}

	failed = endpoint.Bind(at(netip.AddrPortFrom(from, 0)))
	if failed == nil {
		failed = endpoint.Connect(at(netip.AddrPortFrom(c.addr, port)))
	}
	if failed != nil {
		endpoint.Close()
		c.flowsIn.free()
		return nil, errors.New(failed.String())
	}

	return &incomingUDP{newInsideUDP(queue, endpoint), sync.OnceFunc(c.flowsIn.free)}, nil
}

// flow carries packets both ways until none has come for a while.
func (c *container) flow(a, b datagrams) {
	closing := sync.OnceFunc(func() {
		_ = a.Close()
		_ = b.Close()
	})
	defer context.AfterFunc(c.life, closing)()
	idle := time.AfterFunc(flowIdle, closing)
	defer idle.Stop()

	var both sync.WaitGroup
	carry := func(to, from datagrams) {
		defer closing()
		for {
			err := from.receive(func(packet []byte) {
				idle.Reset(flowIdle)
				_, _ = to.Write(packet) // as lost on the way
			})
			if err != nil {
				return
			}
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
	p := &publishedUDP{
		container: c,
		socket:    socket,
		port:      port,
		clients:   map[netip.AddrPort]datagrams{},
	}

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
	clients map[netip.AddrPort]datagrams
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

// inside returns the socket by which a client's packets go to the container, nil if there are too many.
func (p *publishedUDP) inside(client netip.AddrPort) datagrams {
	p.mu.Lock()
	defer p.mu.Unlock()
	if conn := p.clients[client]; conn != nil {
		return conn
	}
	conn, err := p.container.dialInUDP(p.container.server.gateway, p.port)
	if err != nil {
		return nil
	}
	p.clients[client] = conn
	go p.answers(client, conn)
	return conn
}

// answers carries the container's packets to a client, until none has come for a while.
func (p *publishedUDP) answers(client netip.AddrPort, inside datagrams) {
	closing := func() { _ = inside.Close() }
	defer context.AfterFunc(p.container.life, closing)()
	idle := time.AfterFunc(flowIdle, closing)
	defer idle.Stop()

	for {
		err := inside.receive(func(packet []byte) {
			idle.Reset(flowIdle)
			_, _ = p.socket.WriteToUDPAddrPort(packet, client) // as lost on the way
		})
		if err != nil {
			break
		}
	}

	p.mu.Lock()
	delete(p.clients, client)
	p.mu.Unlock()
	closing()
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
