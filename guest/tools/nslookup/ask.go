package nslookup

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Windows' nslookup asks twice over UDP and waits two seconds, then four
// (https://learn.microsoft.com/windows-server/administration/windows-commands/nslookup-set-timeout).
const (
	askTries   = 2
	askTimeout = 2 * time.Second
	tcpTimeout = 2 * askTimeout
	dnsPort    = 53
	mostBytes  = 65535
)

// askError is why there is no answer, in nslookup's words.
type askError string

// Error returns the words.
func (e askError) Error() string { return string(e) }

const (
	errNoReply     askError = "No response from server"
	errServer      askError = "Server failed"
	errNoDomain    askError = "Non-existent domain" // a name that does not exist, or cannot
	errRefused     askError = "Query refused"
	errUnspecified askError = "Unspecified error"
)

// errorOf is the error of a reply's code, nil for success.
func errorOf(code dnsmessage.RCode) error {
	switch code {
	case dnsmessage.RCodeSuccess:
		return nil
	case dnsmessage.RCodeServerFailure:
		return errServer
	case dnsmessage.RCodeNameError:
		return errNoDomain
	case dnsmessage.RCodeRefused:
		return errRefused
	}
	return errUnspecified
}

// reply is an answer to a question that was asked; the records have not been read yet.
type reply struct {
	header  dnsmessage.Header
	records dnsmessage.Parser
	// any is whether the reply says that it has answers.
	any bool
}

// ask sends one question for a whole name, over UDP and, if the answer is cut, TCP. The error is an
// askError.
func ask(sys System, server netip.Addr, name string, kind dnsmessage.Type) (reply, error) {
	question, err := newQuestion(name, kind)
	if err != nil {
		return reply{}, errNoDomain
	}
	message, err := question.Pack()
	if err != nil {
		return reply{}, errNoDomain
	}

	to := netip.AddrPortFrom(server, dnsPort)
	r, err := askUDP(sys, to, question, message)
	if err == nil && r.header.Truncated {
		r, err = askTCP(sys, to, question, message)
	}
	if err != nil {
		return r, err
	}

	return r, errorOf(r.header.RCode)
}

func newQuestion(name string, kind dnsmessage.Type) (dnsmessage.Message, error) {
	whole, err := dnsmessage.NewName(strings.TrimSuffix(name, ".") + ".")
	return dnsmessage.Message{
		Header:    dnsmessage.Header{ID: uint16(rand.Uint32()), RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: whole, Type: kind, Class: dnsmessage.ClassINET}},
	}, err
}

func askUDP(sys System, to netip.AddrPort, question dnsmessage.Message, message []byte) (reply, error) {
	conn, err := sys.Dial("udp", to, askTimeout)
	if err != nil {
		return reply{}, errNoReply
	}
	defer conn.Close()

	buffer := make([]byte, mostBytes)
	timeout := askTimeout
	for range askTries {
		if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
			return reply{}, errNoReply
		}
		timeout *= 2
		if _, err := conn.Write(message); err != nil {
			return reply{}, errNoReply
		}

		r, err := nextReply(conn, question, buffer)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return r, err
		}
	}

	return reply{}, errNoReply
}

// nextReply reads datagrams until one answers the question.
func nextReply(conn net.Conn, question dnsmessage.Message, buffer []byte) (reply, error) {
	for {
		size, err := conn.Read(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return reply{}, err
		}
		if err != nil {
			return reply{}, errNoReply
		}
		if r, ok := readReply(buffer[:size], question); ok {
			return r, nil
		}
	}
}

func askTCP(sys System, to netip.AddrPort, question dnsmessage.Message, message []byte) (reply, error) {
	conn, err := sys.Dial("tcp", to, tcpTimeout)
	if err != nil {
		return reply{}, errNoReply
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(tcpTimeout)); err != nil {
		return reply{}, errNoReply
	}

	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)); err != nil {
		return reply{}, errNoReply
	}
	var size uint16
	if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
		return reply{}, errNoReply
	}

	buffer := make([]byte, size)
	if _, err := io.ReadFull(conn, buffer); err != nil {
		return reply{}, errNoReply
	}
	if r, ok := readReply(buffer, question); ok {
		return r, nil
	}
	return reply{}, errNoReply
}

// readReply reads a message up to its records; false if it is no answer to the question. The question comes back
// unchanged, except for the case of letters. What a server sends may be made to do harm.
func readReply(message []byte, asked dnsmessage.Message) (r reply, ok bool) {
	const answers = 6 // where the number of answers is in a message
	var err error
	if r.header, err = r.records.Start(message); err != nil || !r.header.Response || r.header.ID != asked.ID {
		return r, false
	}
	got, err := r.records.AllQuestions()
	if err != nil || len(got) != 1 {
		return r, false
	}
	want := asked.Questions[0]
	r.any = binary.BigEndian.Uint16(message[answers:]) > 0
	return r, got[0].Type == want.Type && got[0].Class == want.Class &&
		strings.EqualFold(got[0].Name.String(), want.Name.String())
}

// record is one record of an answer, with its names as text.
type record struct {
	owner string
	kind  dnsmessage.Type
	body  dnsmessage.ResourceBody // nil if it is not one that nslookup reads, or cannot be read
}

// answers returns the records of the answer section, up to the first that is not whole. A record of a name with a dot
// within a label is left out: dnsmessage does not read such names.
func (r reply) answers() []record {
	records := r.records
	var found []record
	for {
		header, err := records.AnswerHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return found
		}
		reading := records
		if records.SkipAnswer() != nil {
			return found
		}

		if err != nil {
			continue
		}
		one := record{owner: plainName(header.Name), kind: header.Type}
		if whole, err := reading.Answer(); err == nil && hasItsSize(header) {
			one.body = whole.Body
		}
		found = append(found, one)
	}
}

// hasItsSize reports whether the data of an address record has the size of an address.
func hasItsSize(header dnsmessage.ResourceHeader) bool {
	switch header.Type {
	case dnsmessage.TypeA:
		return header.Length == net.IPv4len
	case dnsmessage.TypeAAAA:
		return header.Length == net.IPv6len
	}
	return true
}

// address reports the address in a record, if it holds one.
func (r record) address() (netip.Addr, bool) {
	switch body := r.body.(type) {
	case *dnsmessage.AResource:
		return netip.AddrFrom4(body.A), true
	case *dnsmessage.AAAAResource:
		return netip.AddrFrom16(body.AAAA), true
	}
	return netip.Addr{}, false
}

// plainName returns a name without its last dot. What is no printable character is \ddd, so that a terminal never sees
// what a server has made up.
func plainName(name dnsmessage.Name) string {
	var out strings.Builder
	for _, c := range []byte(strings.TrimSuffix(name.String(), ".")) {
		if c > ' ' && c < 0x7f && c != '\\' {
			out.WriteByte(c)
		} else {
			out.WriteString(`\` + string([]byte{'0' + c/100, '0' + c/10%10, '0' + c%10}))
		}
	}
	return out.String()
}
