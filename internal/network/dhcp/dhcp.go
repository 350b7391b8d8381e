// Package dhcp tells the pods of a network their addresses by DHCP (RFC 2131), as Windows does on a network with the
// flag EnableDhcpServer. It keeps nothing and chooses nothing: the addresses are those that HNS gave the endpoints.
// What it reads comes from pods; one message is read at a time, so a pod that floods it makes others wait, and no more.
package dhcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// leaseTime is how long a client may keep an address without asking again. An endpoint has its address for life, so
// this bounds only how long a client keeps what else it was told.
const leaseTime = 24 * time.Hour

// largestMessage is in bytes: what an Ethernet frame carries.
const largestMessage = 1500

// Lease is what a client is told.
type Lease struct {
	Addr   netip.Prefix // IPv4, with the subnet's length
	Router netip.Addr   // of all other addresses; none when not valid
	DNS    []netip.Addr
}

// Config says where to answer, and what.
type Config struct {
	// Netns is the pin of the namespace to answer in; the process's own when empty.
	Netns string
	// Link is the interface by which messages have to come. Another link with its name is another link.
	Link string
	// Server is the address by which clients know the server: one of the link's.
	Server netip.Addr
	// Lease returns the lease of a hardware address. It is called for each message, one after another.
	Lease func(net.HardwareAddr) (Lease, bool)
}

// Listen answers until the result is closed. A call of Config.Lease may be under way when Close returns; its answer is
// not sent.
func Listen(cfg Config) (io.Closer, error) {
	if cfg.Netns == "" {
		cfg.Netns = netns.Self
	}

	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		controlErr := c.Control(func(fd uintptr) {
			err = errors.Join(unix.BindToDevice(int(fd), cfg.Link),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1))
		})
		return errors.Join(controlErr, err)
	}}

	var c net.PacketConn
	err := netns.Do(cfg.Netns, func() (err error) {
		at := fmt.Sprintf("0.0.0.0:%d", dhcpv4.ServerPort)
		c, err = lc.ListenPacket(context.Background(), "udp4", at) //nolint:forbidigo // no name to look up
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("answer DHCP on %s: %w", cfg.Link, err)
	}

	go serve(c, cfg)
	return c, nil
}

func serve(c net.PacketConn, cfg Config) {
	data := make([]byte, largestMessage)
	for {
		n, _, err := c.ReadFrom(data)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // the link is gone, or down for a moment
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // nothing tells when the link is back
			continue
		}

		message, err := dhcpv4.FromBytes(data[:n])
		if err != nil {
			continue
		}
		reply := Answer(message, cfg.Server, cfg.Lease)
		if reply == nil {
			continue
		}
		_, _ = c.WriteTo(reply.ToBytes(), to(message, reply)) // a client that hears nothing asks again
	}
}

// to returns where an answer goes (RFC 2131, section 4.1). Clients without an address get it as a broadcast: one by
// their hardware address alone is more than a UDP socket can send.
func to(message, reply *dhcpv4.DHCPv4) net.Addr {
	at := &net.UDPAddr{IP: net.IPv4bcast, Port: dhcpv4.ClientPort}
	if reply.MessageType() != dhcpv4.MessageTypeNak && !message.ClientIPAddr.IsUnspecified() {
		at.IP = message.ClientIPAddr
	}
	return at
}

// Answer returns the answer to a client's message, nil if there is none.
func Answer(message *dhcpv4.DHCPv4, server netip.Addr, leases func(net.HardwareAddr) (Lease, bool)) *dhcpv4.DHCPv4 {
	if message.OpCode != dhcpv4.OpcodeBootRequest || len(message.ClientHWAddr) != 6 {
		return nil
	}
	if of := message.ServerIdentifier(); of != nil && !of.Equal(server.AsSlice()) {
		return nil // it chose another server
	}

	lease, ok := leases(message.ClientHWAddr)
	if !ok {
		return nil
	}
	told := []dhcpv4.Modifier{
		dhcpv4.WithServerIP(server.AsSlice()),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(server.AsSlice())),
		dhcpv4.WithNetmask(net.CIDRMask(lease.Addr.Bits(), 32)),
	}

	if lease.Router.IsValid() {
		told = append(told, dhcpv4.WithRouter(lease.Router.AsSlice()))
	}

	if len(lease.DNS) > 0 {
		var servers []net.IP
		for _, s := range lease.DNS {
			servers = append(servers, s.AsSlice())
		}
		told = append(told, dhcpv4.WithDNS(servers...))
	}

	addr := net.IP(lease.Addr.Addr().AsSlice())
	given := append(slices.Clip(told), dhcpv4.WithYourIP(addr),
		dhcpv4.WithLeaseTime(uint32(leaseTime.Seconds())))
	switch message.MessageType() {
	case dhcpv4.MessageTypeDiscover:
		return answer(message, dhcpv4.MessageTypeOffer, given)
	case dhcpv4.MessageTypeRequest:
		asked := message.RequestedIPAddress()
		if asked == nil {
			asked = message.ClientIPAddr
		}
		if !asked.Equal(addr) {
			return answer(message, dhcpv4.MessageTypeNak, told[1:2])
		}
		return answer(message, dhcpv4.MessageTypeAck, given)

	case dhcpv4.MessageTypeInform:
		return answer(message, dhcpv4.MessageTypeAck, told)
	default: // it gives its address back, or does not want it: it stays the endpoint's
		return nil
	}
}

func answer(message *dhcpv4.DHCPv4, kind dhcpv4.MessageType, with []dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	reply, err := dhcpv4.NewReplyFromRequest(message, append(with, dhcpv4.WithMessageType(kind))...)
	if err != nil {
		return nil
	}
	return reply
}
