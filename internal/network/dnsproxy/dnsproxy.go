// Package dnsproxy answers DNS questions (RFC 1035) at an address of a host by passing them to the host's own name
// servers, as Windows does at the gateway of a network with the flag EnableDnsProxy. It keeps nothing and decides
// nothing about names. What it reads comes from pods: sizes, times and numbers are bounded.
package dnsproxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/places"
)

// Bounds. Questions beyond them are dropped, as a resolver asks again. One client leaves others some (package places).
const (
	mostDatagrams   = 256             // questions over UDP that wait for an answer
	mostConnections = 64              // over TCP
	mostQuestions   = 32              // of one connection
	largestDatagram = 4096            // bytes; RFC 6891 recommends this size for EDNS
	unread          = 1 << 20         // bytes of datagrams that come faster than they are read
	patience        = 2 * time.Second // with one server
	idle            = 10 * time.Second
)

// Config says where to listen and whom to ask.
type Config struct {
	// Netns is the pin of the namespace to listen and ask in; the process's own when empty.
	Netns string
	// Link is the interface by which questions have to come; any when empty.
	Link string
	// At are the addresses and ports to listen on, over UDP and TCP.
	At []netip.AddrPort
	// Servers returns the name servers, in the order in which they are asked; it is called for each question.
	Servers func() []netip.AddrPort
	// Own returns the answer to a question that is not passed on, nil if it is; it may be nil.
	Own func(question []byte) []byte
}

// Proxy answers until it is closed.
type Proxy struct {
	cfg     Config
	ctx     context.Context //nolint:containedctx // the proxy's life, which ends with Close
	cancel  context.CancelFunc
	closers []io.Closer
	running sync.WaitGroup
	udp     *places.Places[netip.Addr]
	tcp     *places.Places[netip.Addr]
}

// Listen begins to answer.
func Listen(cfg Config) (*Proxy, error) {
	if cfg.Netns == "" {
		cfg.Netns = netns.Self // the caller may be on a thread that is elsewhere
	}
	p := newProxy(cfg)
	for _, at := range cfg.At {
		if err := p.listen(at); err != nil {
			return nil, errors.Join(fmt.Errorf("answer DNS questions at %s: %w", at, err), p.Close())
		}
	}

	return p, nil
}

// Serve begins to answer what comes by sockets that others have opened, and takes them. At and Link are not heeded, and
// without Netns no namespace is entered, which would take rights.
func Serve(cfg Config, packets net.PacketConn, streams net.Listener) *Proxy {
	p := newProxy(cfg)
	p.serve(packets, streams)
	return p
}

func newProxy(cfg Config) *Proxy {
	p := &Proxy{
		cfg: cfg,
		udp: places.New[netip.Addr](mostDatagrams),
		tcp: places.New[netip.Addr](mostConnections),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // the proxy lives until Close
	return p
}

// in runs f in the proxy's namespace.
func (p *Proxy) in(f func() error) error {
	if p.cfg.Netns == "" {
		return f()
	}
	return netns.Do(p.cfg.Netns, f)
}

// Close stops answering. Nothing of the proxy runs when it returns.
func (p *Proxy) Close() error {
	p.cancel()
	var errs []error
	for _, c := range p.closers {
		errs = append(errs, c.Close())
	}
	p.running.Wait()
	return errors.Join(errs...)
}

func (p *Proxy) listen(at netip.AddrPort) error {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if p.cfg.Link == "" {
			return nil
		}
		controlErr := c.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), p.cfg.Link) })
		return errors.Join(controlErr, err)
	}}

	return p.in(func() error {
		packets, err := lc.ListenPacket(p.ctx, "udp", at.String())
		if err != nil {
			return err
		}
		streams, err := lc.Listen(p.ctx, "tcp", at.String())
		if err != nil {
			return errors.Join(err, packets.Close())
		}

		p.serve(packets, streams)
		return nil
	})
}

// serve takes two sockets and answers what comes by them.
func (p *Proxy) serve(packets net.PacketConn, streams net.Listener) {
	p.closers = append(p.closers, packets, streams)
	if c, ok := packets.(interface{ SetReadBuffer(bytes int) error }); ok {
		_ = c.SetReadBuffer(unread) // as much of it as the machine gives (net.core.rmem_max)
	}

	p.running.Go(func() { p.serveUDP(packets) })
	p.running.Go(func() { p.serveTCP(streams) })
}

// serveUDP reads datagrams. One that gets no place costs no memory: a client that floods is read as fast as it sends,
// so that the socket's buffer has room for its neighbours.
func (p *Proxy) serveUDP(c net.PacketConn) {
	datagram := make([]byte, largestDatagram)
	for {
		n, from, err := c.ReadFrom(datagram)
		if err != nil {
			if !p.pause() {
				return
			}
			continue
		}

		client := clientOf(from)
		if _, ok := questionEnd(datagram[:n]); !ok || !p.udp.Take(client) {
			continue
		}

		question := bytes.Clone(datagram[:n])
		p.running.Go(func() {
			defer p.udp.Give(client)
			_, _ = c.WriteTo(p.answer("udp", question), from)
		})
	}
}

func (p *Proxy) serveTCP(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			if !p.pause() {
				return
			}
			continue
		}

		client := clientOf(c.RemoteAddr())
		if !p.tcp.Take(client) {
			_ = c.Close()
			continue
		}

		p.running.Go(func() {
			defer func() { _ = c.Close(); p.tcp.Give(client) }()
			stop := context.AfterFunc(p.ctx, func() { _ = c.Close() })
			defer stop()
			p.serveConnection(c)
		})
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

// pause waits a moment after an error of a socket: too many open files, or a link that is gone. It returns false when
// the proxy is closed.
func (p *Proxy) pause() bool {
	select {
	case <-time.After(10 * time.Millisecond):
		return true
	case <-p.ctx.Done():
		return false
	}
}

func (p *Proxy) serveConnection(c net.Conn) {
	for range mostQuestions {
		if err := c.SetDeadline(time.Now().Add(idle)); err != nil {
			return
		}
		question, err := readMessage(c)
		if err != nil {
			return
		}

		if _, ok := questionEnd(question); !ok {
			return
		}
		if writeMessage(c, p.answer("tcp", question)) != nil {
			return
		}
	}
}

// answer returns the answer of the first server that gives one, else that there is none (SERVFAIL).
func (p *Proxy) answer(network string, question []byte) []byte {
	if code := refusal(question); code != 0 {
		return failure(question, code)
	}
	if p.cfg.Own != nil {
		if reply := p.cfg.Own(question); reply != nil {
			return reply
		}
	}

	for _, server := range p.cfg.Servers() {
		if reply, err := p.ask(network, server, question); err == nil {
			return reply
		}
	}

	return failure(question, serverFailure)
}

// ask sends a question to a server, under a number of its own.
func (p *Proxy) ask(network string, server netip.AddrPort, question []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()

	var c net.Conn
	err := p.in(func() (err error) {
		c, err = (&net.Dialer{}).DialContext(ctx, network, server.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()

	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()

	sent := append([]byte(nil), question...)
	_, _ = rand.Read(sent[:2])
	if network == "tcp" {
		if err := writeMessage(c, sent); err != nil {
			return nil, err
		}
	} else if _, err := c.Write(sent); err != nil {
		return nil, err
	}

	for {
		reply, err := receive(network, c)
		if err != nil {
			return nil, err
		}
		if !isReply(reply, sent) {
			continue
		}
		copy(reply, question[:2])
		if network == "udp" && len(reply) > largestDatagram {
			reply = cut(reply, question)
		}
		return reply, nil
	}
}

func receive(network string, c net.Conn) ([]byte, error) {
	if network == "tcp" {
		return readMessage(c)
	}
	reply := make([]byte, largestDatagram+1) // with the last byte it is longer than may be
	n, err := c.Read(reply)
	return reply[:n], err
}

// readMessage reads a message with its length before it (RFC 1035, 4.2.2).
func readMessage(r io.Reader) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	m := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(r, m)
	return m, err
}

func writeMessage(w io.Writer, m []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...)) // as it was read
	return err
}

// Parts of a message (RFC 1035, 4.1).
const (
	headerLen       = 12
	isResponse      = 0x80 // in the third byte
	isTruncated     = 0x02 // there
	opcodes         = 0x78 // there; that of an ordinary query is 0
	canRecurse      = 0x80 // in the fourth byte
	longestLabel    = 63
	typeAndClassLen = 4
)

// Codes of answers (RFC 1035, 4.1.1).
const (
	serverFailure  = 2
	notImplemented = 4
	refused        = 5
)

// Types of questions for a whole zone (RFC 1995, RFC 5936).
const (
	typeIXFR = 251
	typeAXFR = 252
)

// refusal returns the code of the answer to a question that is not passed on, 0 for one that is. A server that trusts
// the host may let it update a zone, or have all of one (RFC 2136, RFC 5936): that is the host's, not a pod's.
func refusal(question []byte) byte {
	if question[2]&opcodes != 0 {
		return notImplemented
	}
	end, _ := questionEnd(question)
	switch binary.BigEndian.Uint16(question[end-typeAndClassLen:]) {
	case typeIXFR, typeAXFR:
		return refused
	}
	return 0
}

// questionEnd returns where the question of a query ends. ok is false for what is no query with one question.
func questionEnd(m []byte) (end int, ok bool) {
	if len(m) < headerLen || m[2]&isResponse != 0 || binary.BigEndian.Uint16(m[4:]) != 1 {
		return 0, false
	}

	for at := headerLen; at < len(m); {
		label := int(m[at])
		if at++; label == 0 {
			return at + typeAndClassLen, at+typeAndClassLen <= len(m)
		}
		if label > longestLabel {
			return 0, false
		}
		at += label
	}

	return 0, false
}

// isReply reports whether m answers the question: it has its number, and asks the same.
func isReply(m, question []byte) bool {
	end, ok := questionEnd(question)
	return ok && len(m) >= end && m[2]&isResponse != 0 && string(m[:2]) == string(question[:2]) &&
		string(m[headerLen:end]) == string(question[headerLen:end])
}

// cut returns an answer as one that is not whole (RFC 2181, 9): who asked does so again over TCP.
func cut(reply, question []byte) []byte {
	end, _ := questionEnd(question)
	reply = reply[:end]
	reply[2] |= isTruncated
	clear(reply[6:headerLen]) // no records
	return reply
}

// failure returns an answer to a question that has a code alone.
func failure(question []byte, code byte) []byte {
	end, _ := questionEnd(question)
	m := append([]byte(nil), question[:end]...)
	m[2] |= isResponse
	m[3] = canRecurse | code
	clear(m[6:headerLen]) // no other records
	return m
}
