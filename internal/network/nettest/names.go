package nettest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"mullion.dev/mullion/internal/base/netns"
)

// namesTTL is how long, in seconds, resolvers may keep an answer of the outside's name server.
const namesTTL = 5

// names is the name server of the world outside: it answers for the names in Zone, one of each family.
type names struct {
	conn net.PacketConn
	done chan struct{}
}

// serveNames starts the name server on an address in the network namespace at path.
func serveNames(ctx context.Context, path string, at netip.Addr) (*names, error) {
	n := &names{done: make(chan struct{})}
	err := netns.Do(path, func() error {
		var err error
		n.conn, err = (&net.ListenConfig{}).ListenPacket(ctx, "udp4", netip.AddrPortFrom(at, 53).String())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("serve names of zone %s: %w", Zone, err)
	}
	go n.run()
	return n, nil
}

func (n *names) run() {
	defer close(n.done)
	b := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(b)
		if err != nil {
			return
		}
		if answer, err := answerName(b[:size]); err == nil {
			_, _ = n.conn.WriteTo(answer, from)
		}
	}
}

func (n *names) close() error {
	err := n.conn.Close()
	<-n.done
	return err
}

// answerName answers a query of one question.
func answerName(query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}

	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	known := name == farName || name == farName6
	header = dnsmessage.Header{
		ID:               header.ID,
		Response:         true,
		Authoritative:    true,
		RecursionDesired: header.RecursionDesired,
	}

	if !known {
		header.RCode = dnsmessage.RCodeNameError
	}

	b := dnsmessage.NewBuilder(nil, header)
	if err := b.StartQuestions(); err != nil {
		return nil, err
	}
	if err := b.Question(q); err != nil {
		return nil, err
	}

	if err := b.StartAnswers(); err != nil {
		return nil, err
	}

	h := dnsmessage.ResourceHeader{
		Name:  q.Name,
		Class: dnsmessage.ClassINET,
		TTL:   namesTTL,
	}

	switch {
	case name == farName && q.Type == dnsmessage.TypeA:
		err = b.AResource(h, dnsmessage.AResource{A: FarAddress().As4()})
	case name == farName6 && q.Type == dnsmessage.TypeAAAA:
		err = b.AAAAResource(h, dnsmessage.AAAAResource{AAAA: FarAddress6().As16()})
	}
	if err != nil {
		return nil, err
	}

	return b.Finish()
}

// waitForNames waits until the cluster's DNS asks the outside for names in Zone, which begins when it reads its zones
// again. If it does not happen in time, the flows fail.
func (b *bed) waitForNames(ctx context.Context, within time.Duration) {
	if !b.dns {
		return
	}
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer(b.cfg.Outside.Netns, callTimeout)(ctx, network, netip.AddrPortFrom(b.cfg.DNS, 53).String())
	}}
	_ = poll(ctx, within, "wait for "+farName, func(ctx context.Context) error {
		_, err := resolver.LookupHost(ctx, farName+".")
		return err
	})
}
