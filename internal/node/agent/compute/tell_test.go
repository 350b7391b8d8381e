package compute

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/runtime/hcs"
)

// TestUnread: a program that does not read its events loses its handle, and holds nobody for ever.
func TestUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		program, conn := net.Pipe()
		defer program.Close()
		events, left := make(chan hcs.Event, 1), make(chan struct{})
		events <- hcs.Event{Type: hcs.SystemExited, Text: "{}"}
		c := computed(hcs.Answer{Events: &hcs.Subscription{Events: events, Leave: func() { close(left) }}})
		go func() {
			defer conn.Close()
			c.Then(context.WithoutCancel(t.Context()), conn, []byte("answer"))
		}()
		if n, err := program.Read(make([]byte, 6)); n != 6 || err != nil {
			t.Errorf("the answer: %d, %v", n, err)
		}

		begun := time.Now()
		select {
		case <-left:
			if took := time.Since(begun); took != eventTimeout {
				t.Errorf("after %s", took)
			}
		case <-time.After(time.Hour):
			t.Error("it still is waited for")
			_ = program.Close()
			<-left
		}
	})
}
