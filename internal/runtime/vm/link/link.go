// Package link is how a virtual machine's shim on the host and the agent in its guest talk: one byte channel, a virtio
// serial port, divided into streams by yamux. The host opens every stream and says in its first line what it is for;
// the guest opens none. The package knows nothing of QEMU or of containers.
//
// The guest is not trusted: what it sends is bounded, in a stream by yamux' window and a line by maxLine.
package link

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/yamux"

	"mullion.dev/mullion/internal/base/plaintext"
)

// Port is the name of the virtio serial port.
const Port = "mullion"

// FIFOs is the folder in the guest of its processes' standard streams.
const FIFOs = "/run/fifos"

// Share is the tag of the virtiofs file system that the host shares with the guest, and where the guest mounts it.
const (
	Share    = "mullion"
	SharedAt = "/share"
)

// Kind is what a stream is for.
type Kind string

// The kinds of streams.
const (
	// Configure carries a Config in the request; the guest answers when it is carried out.
	Configure Kind = "configure"
	// Tasks is a connection of ttrpc, on which the guest serves containerd's task API.
	Tasks Kind = "tasks"
	// Events has a line for each Event, from the guest.
	Events Kind = "events"
	// Input goes to the FIFO Path in the guest, and Output comes from it. The guest makes the FIFO.
	Input  Kind = "input"
	Output Kind = "output"
	// Dial is a TCP connection to Port of the guest's own loopback addresses.
	Dial Kind = "dial"
)

// Request is the first line of a stream. The guest answers with an Answer in a line; then the stream is what Kind says.
type Request struct {
	Kind   Kind    `json:"kind"`
	Config *Config `json:"config,omitempty"`
	Path   string  `json:"path,omitempty"`
	Port   uint16  `json:"port,omitempty"`
}

// Answer says whether a request is carried out; Error is "" if it is.
type Answer struct {
	Error string `json:"error,omitempty"`
}

// Event is one that the guest tells of: so far only that a container was out of memory.
type Event struct {
	OutOfMemory string `json:"outOfMemory"`
}

// Config is what a guest becomes.
type Config struct {
	Hostname   string      `json:"hostname"`
	Interfaces []Interface `json:"interfaces"`
}

// Interface is a network interface of the guest, known by its hardware address.
type Interface struct {
	Name string `json:"name"`
	MAC  string `json:"mac"`
	MTU  int    `json:"mtu"`
	// Addresses are prefixes, as 10.244.1.3/24.
	Addresses  []string    `json:"addresses"`
	Routes     []Route     `json:"routes"`
	Neighbours []Neighbour `json:"neighbours"`
}

// Route is a route of the main table. A Destination of "" is the default route, a Gateway of "" says that the
// destination is on the link.
type Route struct {
	Destination string `json:"destination,omitempty"`
	Gateway     string `json:"gateway,omitempty"`
	Metric      int    `json:"metric,omitempty"`
	IPv6        bool   `json:"ipv6,omitempty"`
}

// Neighbour is a permanent entry of the neighbour table.
type Neighbour struct {
	Address string `json:"address"`
	MAC     string `json:"mac"`
}

// maxLine is the longest first line of either side, in bytes: a Config is some hundred.
const maxLine = 64 << 10

// answerTimeout is how long the other side may take for an answer; under software emulation everything is slow.
const answerTimeout = time.Minute

func config() *yamux.Config {
	c := yamux.DefaultConfig()
	c.LogOutput = io.Discard
	c.AcceptBacklog = 64
	// An emulated guest on a busy machine may be silent for long. If it is dead, QEMU's end or a call's says so.
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = answerTimeout
	c.StreamOpenTimeout = 0
	return c
}

// Host is the host's end.
type Host struct{ session *yamux.Session }

// NewHost takes the host's end of a channel. Close closes the channel too.
func NewHost(channel io.ReadWriteCloser) (*Host, error) {
	c := config()
	c.AcceptBacklog = 1 // the guest opens no streams
	session, err := yamux.Client(channel, c)
	if err != nil {
		return nil, fmt.Errorf("begin to talk to the guest: %w", err)
	}
	return &Host{session}, nil
}

// Close ends all streams.
func (h *Host) Close() error { return h.session.Close() }

// Open opens a stream, and returns when the guest has carried out the request.
func (h *Host) Open(r Request) (net.Conn, error) { return h.OpenWithin(r, answerTimeout) }

// Closed reports whether the link has ended.
func (h *Host) Closed() bool { return h.session.IsClosed() }

// OpenWithin is Open for a request that the guest may take so long to carry out.
func (h *Host) OpenWithin(r Request, timeout time.Duration) (net.Conn, error) {
	stream, err := h.session.OpenStream()
	if err != nil {
		return nil, fmt.Errorf("open %s stream to the guest: %w", r.Kind, err)
	}
	if err := ask(stream, r, timeout); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s stream to the guest: %w", r.Kind, err), stream.Close())
	}
	return stream, nil
}

// Ask makes a request on a connection of one's own, and returns when it is carried out.
func Ask(conn net.Conn, r Request) error { return ask(conn, r, answerTimeout) }

func ask(stream net.Conn, r Request, timeout time.Duration) error {
	if err := stream.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if err := json.NewEncoder(stream).Encode(r); err != nil {
		return err
	}

	var a Answer
	if err := readLine(stream, &a); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if a.Error != "" {
		return errors.New(Bounded(a.Error))
	}

	return stream.SetDeadline(time.Time{})
}

// maxText is how much is kept of a text of the guest.
const maxText = 2048

// Bounded returns a text that comes from the guest, cut, and without what draws on a terminal. It is UTF-8, which
// messages of protobuf have to be: a shim that answers with another text loses its connection to containerd.
func Bounded(text string) string { return plaintext.OneLine(text[:min(len(text), maxText)]) }

// Guest is the guest's end.
type Guest struct{ session *yamux.Session }

// NewGuest takes the guest's end of a channel.
func NewGuest(channel io.ReadWriteCloser) (*Guest, error) {
	session, err := yamux.Server(channel, config())
	if err != nil {
		return nil, fmt.Errorf("begin to talk to the host: %w", err)
	}
	return &Guest{session}, nil
}

// Accept waits for the next stream of the host. The caller answers.
func (g *Guest) Accept() (net.Conn, error) { return g.session.AcceptStream() }

// ReadRequest reads the request of an accepted stream.
func ReadRequest(stream net.Conn) (Request, error) {
	var r Request
	err := readLine(stream, &r)
	return r, err
}

// Reply answers a request; err says why it is not carried out.
func Reply(stream net.Conn, err error) error {
	var a Answer
	if err != nil {
		a.Error = Bounded(err.Error())
	}
	return json.NewEncoder(stream).Encode(a)
}

// readLine reads one line and nothing behind it, because the rest of the stream is not lines.
func readLine(r io.Reader, v any) error {
	var line []byte
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(r, one); err != nil {
			return err
		}
		if one[0] == '\n' {
			return json.Unmarshal(line, v)
		}
		if line = append(line, one[0]); len(line) > maxLine {
			return errors.New("the line is too long")
		}
	}
}

// ReadEvents calls seen with each event of an Events stream until it ends.
func ReadEvents(stream io.Reader, seen func(Event)) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxText)
	for lines.Scan() {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("read event of the guest: %w", err)
		}
		seen(e)
	}
	return lines.Err()
}

// ExecMarker begins the Linux environment variable that all processes of one exec carry; Windows programs do not see
// it.
const ExecMarker = "MULLION_EXEC="

// Join copies between two connections in both directions until both have ended, and closes them.
func Join(a, b net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass(a, b)
	}()
	pass(b, a)
	<-done
	_, _ = a.Close(), b.Close()
}

// pass copies from one connection to another and passes on the end.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from) // an error ends it as the end does
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close() // of a stream of yamux, this end of it
}
