package stream

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// What a connection to the keeper is for. Each connection carries one request and one response, each a line of JSON;
// after the response to an attach, frames follow in both directions, after that to a watch messages.
const (
	opOpen   = "open"   // take over a container's streams; open already is no error
	opReopen = "reopen" // open the log file anew
	opDrain  = "drain"  // answer when both output streams have ended
	opForget = "forget" // close and forget a container
	opAttach = "attach"
	opPing   = "ping"  // answer
	opWatch  = "watch" // answer and hold the connection as long as the keeper lives
	opQuit   = "quit"  // end the keeper

	opCarry      = "carry"      // take over the streams of a program, which go to connections
	opConnect    = "connect"    // take a connection, which follows the answer as a file descriptor
	opEndInput   = "endInput"   // end the input of a program after what has been sent
	opAwaitInput = "awaitInput" // answer when the input of a program has ended
	opAwaitTaken = "awaitTaken" // answer when nobody takes the output of a program any more, or there is no more
	opLetGo      = "letGo"      // forget a program, which is no more
)

// Streams says how a container's streams are connected.
type Streams struct {
	// ID is the container's.
	ID string `json:"id"`
	// Stdin, Stdout and Stderr are the paths of FIFOs, made if they are not there; empty ones are not connected.
	Stdin  string `json:"stdin,omitempty"`
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	// LogPath is the log file; empty means that nothing is logged.
	LogPath string `json:"logPath,omitempty"`
	// Carried has a bit for each stream of a program, by its number, that a connection carries. What comes of others is
	// dropped.
	Carried uint32 `json:"carried,omitempty"`
}

type request struct {
	Op      string  `json:"op"`
	ID      string  `json:"id,omitempty"`
	Streams Streams `json:"streams,omitzero"`
	// Stdin tells an attach to take the container's input.
	Stdin bool `json:"stdin,omitempty"`
	// EndStdin tells an attach that the container's input ends with that of this client, or with its connection.
	EndStdin bool `json:"endStdin,omitempty"`
	// Messages tells a watch to send messages: lines of JSON after the response. A keeper of an earlier version has
	// none.
	Messages bool `json:"messages,omitempty"`
	// Number is that of a stream.
	Number int `json:"number,omitempty"`
	// Greeting is written to a connection before what the stream carries. A keeper of an earlier version does not.
	Greeting []byte `json:"greeting,omitempty"`
	// Awaits says that the connection of an input that is to end is on its way.
	Awaits bool `json:"awaits,omitempty"`
}

type response struct {
	Error string `json:"error,omitempty"`
	// Greets says that the keeper writes the greeting of a connection.
	Greets bool `json:"greets,omitempty"`
}

// Kinds of frames: a byte for the kind, four for the length (big endian), then the data.
const (
	frameStdin    byte = 0 // to the keeper
	frameStdout   byte = 1 // from the keeper
	frameStderr   byte = 2 // from the keeper
	frameStdinEnd byte = 3 // to the keeper, no data: this client's input has ended
)

const maxFrame = 64 * 1024

func writeFrame(w io.Writer, kind byte, data []byte) error {
	buf := make([]byte, 5, 5+len(data))
	buf[0] = kind
	binary.BigEndian.PutUint32(buf[1:], uint32(len(data)))
	_, err := w.Write(append(buf, data...))
	return err
}

func readFrame(r io.Reader) (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("read frame: %d bytes are more than the limit of %d", n, maxFrame)
	}
	data = make([]byte, n)
	_, err = io.ReadFull(r, data)
	return head[0], data, err
}

func writeJSON(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
