package prog

import (
	"io"
	"testing"
	"time"

	"github.com/Microsoft/go-winio"
)

// TestPipeListener serves a named pipe as the kubelet does its pod resources; the first client must be served too.
func TestPipeListener(t *testing.T) {
	const name = `\\.\pipe\mullion-winapi-test`
	l, err := winio.ListenPipe(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	go echo(l)
	for i := range 4 {
		timeout := 5 * time.Second
		c, err := winio.DialPipe(name, &timeout)
		if err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
			t.Fatal(err)
		}

		if _, err := c.Write([]byte("hi")); err != nil {
			t.Errorf("client %d: %v", i, err)
		}
		answer := make([]byte, 2)
		if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "hi" {
			t.Errorf("client %d: got %q, %v", i, answer, err)
		}
		c.Close()
	}
}
