package gateway

import (
	"net"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"

	"mullion.dev/mullion/internal/base/resolvconf"
	"mullion.dev/mullion/internal/network/dnsproxy"
)

const dnsPort = 53

// dnsAt returns where containers ask.
func (s *server) dnsAt() netip.AddrPort { return netip.AddrPortFrom(s.gateway, dnsPort) }

// answerDNS answers the container's questions at the gateway: those for a container by its names, all others by the
// machine's name servers, also those that only the machine itself reaches.
func (c *container) answerDNS() error {
	here := at(c.server.dnsAt())
	packets, err := gonet.DialUDP(c.stack, &here, nil, ipv4.ProtocolNumber)
	if err != nil {
		return err
	}
	c.questions = &handed{
		container: c,
		streams:   make(chan net.Conn),
		addr:      net.TCPAddrFromAddrPort(c.server.dnsAt()),
	}
	c.dns = dnsproxy.Serve(dnsproxy.Config{Servers: machineServers, Own: c.server.ownAnswer}, packets, c.questions)
	return nil
}

// mostServers is how many name servers are asked, as by the C library (resolv.conf(5)).
const mostServers = 3

// machineServers returns the machine's name servers, as they are now. Without any, one is at the loopback
// (resolv.conf(5)).
func machineServers() []netip.AddrPort {
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil && !os.IsNotExist(err) {
		return nil
	}
	var servers []netip.AddrPort
	for _, s := range resolvconf.Parse(string(text)).Servers {
		servers = append(servers, netip.AddrPortFrom(s, dnsPort))
	}
	if len(servers) == 0 {
		servers = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), dnsPort)}
	}
	return servers[:min(len(servers), mostServers)]
}

// ownTTL is how many seconds an answer for a container may be kept: containers come and go.
const ownTTL = 5

// ownAnswer returns the answer to a question for a container, nil for any other.
func (s *server) ownAnswer(question []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(question)
	if err != nil {
		return nil
	}
	asked, err := p.Question()
	if err != nil || asked.Class != dnsmessage.ClassINET {
		return nil
	}

	addr, ok := s.named(strings.TrimSuffix(asked.Name.String(), "."))
	if !ok {
		return nil
	}

	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{
		ID:                 head.ID,
		Response:           true,
		Authoritative:      true,
		RecursionDesired:   head.RecursionDesired,
		RecursionAvailable: true,
	})
	if b.StartQuestions() != nil || b.Question(asked) != nil || b.StartAnswers() != nil {
		return nil
	}

	if asked.Type == dnsmessage.TypeA || asked.Type == dnsmessage.TypeALL { // containers have no other addresses
		record := dnsmessage.ResourceHeader{
			Name:  asked.Name,
			Class: dnsmessage.ClassINET,
			TTL:   ownTTL,
		}
		if b.AResource(record, dnsmessage.AResource{A: addr.As4()}) != nil {
			return nil
		}
	}

	answer, err := b.Finish()
	if err != nil {
		return nil
	}
	return answer
}
