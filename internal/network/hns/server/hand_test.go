package server

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestHandUnread: an answer that a program does not read ends its connection.
func TestHandUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		program, c := net.Pipe()
		defer program.Close()
		ended := make(chan error, 1)
		go (&Service{}).hand(t.Context(), c, []byte("answer"), func(_ context.Context, c net.Conn, answer []byte) {
			_, err := c.Write(answer)
			ended <- err
		})
		select {
		case err := <-ended:
			if err == nil {
				t.Error("what nobody has read is written")
			}
		case <-time.After(time.Hour):
			t.Error("it still is waited for")
			_ = program.Close()
			<-ended
		}
	})
}
