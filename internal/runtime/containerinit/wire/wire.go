// Package wire is what the engine and a container's first process say to each other: the engine asks it to start a
// program, and it tells how the program ended. It is small, as all that is in the first process.
//
// The first process listens on a Unix socket of packets in the container's working folder. A connection is one program:
//
//	first process   Hello
//	engine          a Request, with the program's three standard files
//	first process   Reply of Started, or of Refused, which is the last
//	first process   Reply of Ended
package wire

import (
	"bytes"
	"errors"
	"strconv"
)

// SocketName is the name of the socket in the working folder.
const SocketName = "start.sock"

// Hello is the first packet: the version of what follows.
const Hello = "1"

// MostRequest is how long a request may be, in bytes. Longer ones are for whoever starts programs otherwise.
const MostRequest = 64 << 10

// ErrRequest is the error of a request that cannot be read, or not be written.
var ErrRequest = errors.New("malformed request to start a program")

// Request asks for a program.
type Request struct {
	// UID is whose program it is, in the container.
	UID int
	// Dir is the folder it starts in, Args begin with the path of its file. No string has a zero byte.
	Dir       string
	Args, Env []string
}

// Encode returns the packet of a request.
func (r Request) Encode() ([]byte, error) {
	fields := append([]string{strconv.Itoa(r.UID), strconv.Itoa(len(r.Args)), r.Dir}, r.Args...)
	fields = append(fields, r.Env...)
	var packet []byte
	for _, field := range fields {
		packet = append(append(packet, field...), 0)
	}
	if len(r.Args) == 0 || len(packet) > MostRequest || bytes.Count(packet, []byte{0}) != len(fields) {
		return nil, ErrRequest
	}
	return packet, nil
}

// Decode reads the packet of a request.
func Decode(packet []byte) (Request, error) {
	if len(packet) == 0 || len(packet) > MostRequest || packet[len(packet)-1] != 0 {
		return Request{}, ErrRequest
	}

	var fields []string
	for field := range bytes.SplitSeq(packet[:len(packet)-1], []byte{0}) {
		fields = append(fields, string(field))
	}
	if len(fields) < 4 {
		return Request{}, ErrRequest
	}

	uid, err := strconv.Atoi(fields[0])
	if err != nil || uid < 0 {
		return Request{}, ErrRequest
	}
	count, err := strconv.Atoi(fields[1])
	if err != nil || count < 1 || count > len(fields)-3 {
		return Request{}, ErrRequest
	}
	rest := fields[3:]
	return Request{
		UID:  uid,
		Dir:  fields[2],
		Args: rest[:count],
		Env:  rest[count:],
	}, nil
}

// Verb is what a Reply says.
type Verb byte

// What a Reply says.
const (
	// Started: the program runs; the value is its process id in the container.
	Started Verb = 's'
	// Refused: nothing was started; the value is an error of Linux, or 0.
	Refused Verb = 'r'
	// Ended: the program has ended; the value is its exit code, or 128 and the signal that ended it.
	Ended Verb = 'e'
)

// Reply is what the first process says of a program.
type Reply struct {
	Verb  Verb
	Value uint32
}

// ReplySize is the length of a reply's packet.
const ReplySize = 5

// Encode returns the packet of a reply.
func (r Reply) Encode() []byte {
	return []byte{byte(r.Verb), byte(r.Value), byte(r.Value >> 8), byte(r.Value >> 16), byte(r.Value >> 24)}
}

// DecodeReply reads the packet of a reply. The verb is one of the three.
func DecodeReply(packet []byte) (Reply, error) {
	if len(packet) != ReplySize {
		return Reply{}, ErrRequest
	}
	value := uint32(packet[1]) | uint32(packet[2])<<8 | uint32(packet[3])<<16 | uint32(packet[4])<<24
	switch verb := Verb(packet[0]); verb {
	case Started, Refused, Ended:
		return Reply{Verb: verb, Value: value}, nil
	}
	return Reply{}, ErrRequest
}
