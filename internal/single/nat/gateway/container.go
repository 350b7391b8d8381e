package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/link/nested"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"mullion.dev/mullion/internal/network/dnsproxy"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// Bounds of a container. What is beyond them is dropped or refused, as by a busy router. Those that come in have bounds
// of their own, so that strangers at a published port leave the container its own connections.
const (
	mostOpening   = 256       // connections of TCP that are being opened
	mostOutgoing  = 512       // connections of TCP that the container opens
	mostIncoming  = 384       // connections of TCP that others open to it
	mostFlowsOut  = 512       // flows of UDP that the container begins
	mostFlowsIn   = 256       // flows of UDP that others begin
	mostPings     = 32        // pings that wait for an answer
	largestBuffer = 128 << 10 // bytes of a connection's buffer for one way, which is short: it ends on this machine
	leastBuffer   = 4 << 10
	packetsBuffer = 32 << 10 // bytes of packets of UDP that wait in a flow
)

// Bounds of all containers, of which each leaves others a part. A connection takes 335 KB at most (measured with 722
// whose buffers are all full): two buffers in the stack, two of 32 KiB that are on the way, and what describes it. A
// flow takes 50 KB: packets of 32 KiB in the stack, the last of which may be longer but is passed on or dropped at
// once, and two goroutines. So all of them take 487 MB of the 537 of wire.Memory.
const (
	mostOutgoingOfAll = 768
	mostIncomingOfAll = 512
	mostFlowsOutOfAll = 768
	mostFlowsInOfAll  = 384
)

// nic is the number of a stack's only interface.
const nic tcpip.NICID = 1

// gatewayMAC is the hardware address of the gateway, which answers for everybody: one of Microsoft's, as in networks of
// Windows.
const gatewayMAC = tcpip.LinkAddress("\x00\x15\x5d\x00\x00\x01")

// container is a container that is connected.
type container struct {
	server *server
	addr   netip.Addr
	mac    tcpip.LinkAddress
	names  []string
	tap    *os.File
	stack  *stack.Stack
	dns    *dnsproxy.Proxy

	life   context.Context //nolint:containedctx // the container's life, which ends with close
	cancel context.CancelFunc

	outgoing, incoming, flowsOut, flowsIn, pings slots

	questions *handed // connections of DNS

	mu      sync.Mutex
	closed  bool
	closers map[closer]struct{} // published ports
}

type closer interface{ Close() error }

// slots are as many as may be taken. Who takes one takes one of all containers' too, unless that is nil.
type slots struct{ own, all chan struct{} }

func newSlots(most int, all chan struct{}) slots { return slots{make(chan struct{}, most), all} }

// take takes one, and reports whether there was one.
func (s slots) take() bool {
	select {
	case s.own <- struct{}{}:
	default:
		return false
	}

	if s.all == nil {
		return true
	}

	select {
	case s.all <- struct{}{}:
		return true
	default:
		<-s.own
		return false
	}
}

// free gives one back.
func (s slots) free() {
	if s.all != nil {
		<-s.all
	}
	<-s.own
}

// newContainer connects a container, and takes its TAP device unless there is an error.
func newContainer(s *server, a wire.Attach, tap *os.File) (*container, error) {
	mac, err := net.ParseMAC(a.MAC)
	if err != nil {
		return nil, err
	}
	if !s.subnet.Contains(a.Addr) || a.Addr == s.gateway {
		return nil, fmt.Errorf("connect container %q: %s is no address of a container", a.ID, a.Addr)
	}

	c := &container{
		server:   s,
		addr:     a.Addr,
		mac:      tcpip.LinkAddress(mac),
		names:    a.Names,
		tap:      tap,
		outgoing: newSlots(mostOutgoing, s.outgoing),
		incoming: newSlots(mostIncoming, s.incoming),
		flowsOut: newSlots(mostFlowsOut, s.flowsOut),
		flowsIn:  newSlots(mostFlowsIn, s.flowsIn),
		pings:    newSlots(mostPings, nil),
		closers:  map[closer]struct{}{},
	}

	c.life, c.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // the container lives until close
	if err := c.open(a.MTU); err != nil {
		c.stop()
		return nil, fmt.Errorf("connect container %q: %w", a.ID, err)
	}

	return c, nil
}

// open makes the stack, with what answers in it.
func (c *container) open(mtu int) error {
	c.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
	})

	link, err := fdbased.New(&fdbased.Options{
		FDs:            []int{int(c.tap.Fd())},
		MTU:            uint32(mtu), //nolint:gosec // the engine's own number
		EthernetHeader: true,
		Address:        gatewayMAC,
		// A container's packets come from this machine's kernel.
		RXChecksumOffload:    true,
		ProcessorsPerChannel: 1,
	})
	if err != nil {
		return err
	}

	own := &ownPackets{source: tcpip.AddrFrom4(c.addr.As4())}
	own.Init(link, own)
	gateway := tcpip.ProtocolAddress{
		Protocol:          ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddrFrom4(c.server.gateway.As4()).WithPrefix(),
	}

	// The stack is whoever the container speaks to.
	for _, failed := range []tcpip.Error{
		c.setBuffers(),
		c.stack.CreateNIC(nic, own),
		c.stack.AddProtocolAddress(nic, gateway, stack.AddressProperties{}),
		c.stack.SetPromiscuousMode(nic, true),
		c.stack.SetSpoofing(nic, true),
		c.stack.AddStaticNeighbor(nic, ipv4.ProtocolNumber, tcpip.AddrFrom4(c.addr.As4()), c.mac),
	} {
		if failed != nil {
			return errors.New(failed.String())
		}
	}

	c.stack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})

	if err := c.answerDNS(); err != nil {
		return err
	}
	forwarder := tcp.NewForwarder(c.stack, largestBuffer, mostOpening, c.forwardTCP)
	c.stack.SetTransportProtocolHandler(tcp.ProtocolNumber, forwarder.HandlePacket)
	c.stack.SetTransportProtocolHandler(udp.ProtocolNumber, udp.NewForwarder(c.stack, c.forwardUDP).HandlePacket)
	c.stack.SetTransportProtocolHandler(icmp.ProtocolNumber4, c.forwardPing)
	return nil
}

// setBuffers bounds what a connection keeps, and how long after its end.
func (c *container) setBuffers() tcpip.Error {
	sack := tcpip.TCPSACKEnabled(true)
	receive := tcpip.TCPReceiveBufferSizeRangeOption{
		Min:     leastBuffer,
		Default: largestBuffer,
		Max:     largestBuffer,
	}

	send := tcpip.TCPSendBufferSizeRangeOption{
		Min:     leastBuffer,
		Default: largestBuffer,
		Max:     largestBuffer,
	}

	wait := tcpip.TCPTimeWaitTimeoutOption(timeWait)
	for _, option := range []tcpip.SettableTransportProtocolOption{&sack, &receive, &send, &wait} {
		if err := c.stack.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			return err
		}
	}

	packets := tcpip.ReceiveBufferSizeOption{
		Min:     leastBuffer,
		Default: packetsBuffer,
		Max:     packetsBuffer,
	}

	return c.stack.SetOption(packets)
}

// close ends all connections, and the interface.
func (c *container) close() {
	c.stop()
	_ = c.tap.Close() // its last user but the engine
}

func (c *container) stop() {
	c.cancel()
	c.mu.Lock()
	c.closed = true
	for one := range c.closers {
		_ = one.Close()
	}
	c.mu.Unlock()
	if c.dns != nil {
		_ = c.dns.Close()
	}
	if c.stack != nil {
		c.stack.Destroy()
	}
}

// keep has something closed with the container. It reports false, and closes it at once, if that is closed.
func (c *container) keep(one closer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = one.Close()
		return false
	}
	c.closers[one] = struct{}{}
	return true
}

// drop closes what was kept.
func (c *container) drop(one closer) {
	c.mu.Lock()
	delete(c.closers, one)
	c.mu.Unlock()
	_ = one.Close()
}

// at returns an address in a stack.
func at(addr netip.AddrPort) tcpip.FullAddress {
	return tcpip.FullAddress{
		NIC:  nic,
		Addr: tcpip.AddrFrom4(addr.Addr().As4()),
		Port: addr.Port(),
	}
}

// ends returns the sides of a connection that a container opens.
func ends(id stack.TransportEndpointID) (from, to netip.AddrPort) {
	return netip.AddrPortFrom(netip.AddrFrom4(id.RemoteAddress.As4()), id.RemotePort),
		netip.AddrPortFrom(netip.AddrFrom4(id.LocalAddress.As4()), id.LocalPort)
}

// ownPackets lets those packets of a container pass that come from its own address: any program can send from others
// (IP_FREEBIND).
type ownPackets struct {
	nested.Endpoint
	source tcpip.Address
}

// DeliverNetworkPacket is called for each packet that comes.
func (o *ownPackets) DeliverNetworkPacket(protocol tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	if protocol == ipv4.ProtocolNumber {
		start, ok := pkt.Data().PullUp(header.IPv4MinimumSize)
		if !ok || header.IPv4(start).SourceAddress() != o.source {
			return
		}
	}
	o.Endpoint.DeliverNetworkPacket(protocol, pkt)
}
