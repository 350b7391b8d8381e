package link_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/vm/link"
)

// hostile is a channel whose guest says some bytes and then ends the channel. What the host says is lost.
type hostile struct {
	io.Reader

	closed chan struct{}
}

func (hostile) Write(p []byte) (int, error) { return len(p), nil }

func (h hostile) Close() error {
	select {
	case <-h.closed:
	default:
		close(h.closed)
	}
	return nil
}

// FuzzHost: whatever a guest sends on the channel, the host's calls end.
func FuzzHost(f *testing.F) {
	frame := func(kind byte, flags byte, stream byte, length ...byte) []byte {
		return append([]byte{0, kind, 0, flags, 0, 0, 0, stream}, append(make([]byte, 4-len(length)), length...)...)
	}

	for _, frames := range [][][]byte{
		{frame(1, 2, 1, 0), frame(0, 0, 1, 3), []byte("{}\n")},                    // an answer
		{frame(2, 1, 0, 7), frame(3, 0, 0, 0)},                                    // a ping, and going away
		{frame(1, 1, 2, 0), frame(1, 1, 4, 0)},                                    // streams of the guest's own
		{frame(0, 4, 1, 0xff, 0xff, 0xff, 0xff), bytes.Repeat(frame(0, 8, 1), 9)}, // more than a window; resets
	} {
		f.Add(bytes.Join(frames, nil))
	}

	f.Fuzz(func(t *testing.T, says []byte) {
		host, err := link.NewHost(hostile{bytes.NewReader(says), make(chan struct{})})
		if err != nil {
			t.Fatal(err)
		}

		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if stream, err := host.OpenWithin(link.Request{Kind: link.Events}, time.Second); err == nil {
				_ = link.ReadEvents(stream, func(link.Event) {})
			}
			_ = host.Close()
		}()

		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("a call does not end")
		}
	})
}
