package admin_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/node/agent/admin"
)

// becomes waits until the level is the one that is wanted.
func becomes(t *testing.T, d *logging.Dial, want logging.Level) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); d.Now() != want; <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the level is %s, want %s", d.Now(), want)
		}
	}
}

func TestHoldLevel(t *testing.T) {
	level := logging.NewDial(logging.Warn)
	c := startAt(t, &service{}, level)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended, err := c.HoldLevel(ctx, logging.Debug)
	if err != nil {
		t.Fatal(err)
	}

	got, err := c.Levels(t.Context())
	if want := (admin.Levels{Usual: logging.Warn, Now: logging.Debug}); err != nil || got != want {
		t.Errorf("Levels() = %+v, %v, want %+v while it is held", got, err, want)
	}
	cancel()
	<-ended
	becomes(t, level, logging.Warn)
}

// TestManyHoldLevel: fifty hold the level at once, and the last to leave puts it back.
func TestManyHoldLevel(t *testing.T) {
	level := logging.NewDial(logging.Info)
	c := startAt(t, &service{}, level)
	last, leave := context.WithCancel(t.Context())
	defer leave()
	if _, err := c.HoldLevel(last, logging.Debug); err != nil {
		t.Fatal(err)
	}

	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if _, err := c.HoldLevel(ctx, logging.Debug); err != nil || level.Now() != logging.Debug {
				t.Errorf("%s, %v", level.Now(), err)
			}
		})
	}

	all.Wait()
	if level.Now() != logging.Debug {
		t.Errorf("one still holds it, and it is %s", level.Now())
	}
	leave()
	becomes(t, level, logging.Info)
}

// TestHolderIsKilled: a process that is killed says nothing; its connection is closed, which is enough.
func TestHolderIsKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	level := logging.NewDial(logging.Info)
	socket := serveAt(t, level)
	conn, err := unixsocket.Dialer(socket)(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := conn.Write([]byte("POST /v1/log/debug/hold HTTP/1.1\r\nHost: socket\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}

	becomes(t, level, logging.Debug)
	if err := conn.(*net.UnixConn).Close(); err != nil {
		t.Fatal(err)
	}
	becomes(t, level, logging.Info)
}

func TestSetLevel(t *testing.T) {
	level := logging.NewDial(logging.Info)
	c := startAt(t, &service{}, level)
	for range 2 {
		if err := c.SetLevel(t.Context(), logging.Error); err != nil || level.Usual() != logging.Error {
			t.Errorf("%s, %v", level.Usual(), err)
		}
	}
}

// TestNoSuchLevel: a request for what is no level changes nothing and says which there are.
func TestNoSuchLevel(t *testing.T) {
	level := logging.NewDial(logging.Info)
	client := unixsocket.NewClient(serveAt(t, level), 10*time.Second)
	for _, path := range []string{"/v1/log/loud", "/v1/log/DEBUG", "/v1/log/%0Adebug", "/v1/log/-8"} {
		for _, request := range []struct{ method, path string }{
			{http.MethodPut, path}, {http.MethodPost, path + "/hold"},
		} {
			err := client.Call(t.Context(), request.method, request.path, nil)
			if err == nil || !strings.Contains(err.Error(), "400 Bad Request: no log level") {
				t.Errorf("%s %s: %v", request.method, request.path, err)
			}
		}
	}

	if level.Now() != logging.Info {
		t.Errorf("the level is %s", level.Now())
	}
}

// TestHoldLevelOfNobody: an agent that is down is an error, and not a wait.
func TestHoldLevelOfNobody(t *testing.T) {
	_, err := admin.NewClient(filepath.Join(t.TempDir(), "none.sock")).HoldLevel(t.Context(), logging.Debug)
	if err == nil {
		t.Error("HoldLevel() of an agent that is not there = nil")
	}
}
