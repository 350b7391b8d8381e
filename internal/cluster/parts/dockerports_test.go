package parts

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// engineAPI answers as Docker's engine does: the list of containers, and an event for each change of it.
type engineAPI struct {
	mu      sync.Mutex
	list    string
	changed chan struct{}
}

func (e *engineAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/events" {
		e.mu.Lock()
		defer e.mu.Unlock()
		fmt.Fprint(w, e.list)
		return
	}

	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-e.changed:
			fmt.Fprintln(w, `{"Type":"container","Action":"start"}`)
			w.(http.Flusher).Flush()
		}
	}
}

func (e *engineAPI) set(list string) {
	e.mu.Lock()
	e.list = list
	e.mu.Unlock()
	e.changed <- struct{}{}
}

// dockerPorts returns the ports of an engine whose host is 127.0.0.2, at 127.0.0.1.
func dockerPorts(t *testing.T, e *engineAPI) *DockerPorts {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := http.Server{Handler: e}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })

	return &DockerPorts{
		Node: "docker",
		Host: netip.MustParseAddr("127.0.0.2"),
		At:   netip.MustParseAddr("127.0.0.1"),
		Dial: dialer(l.Addr().String()),
		Log:  slog.New(slog.DiscardHandler),
	}
}

func published(port int, kind string) string {
	return fmt.Sprintf(`[{"Ports":[{"PrivatePort":80,"PublicPort":%d,"Type":%q},{"PrivatePort":81,"Type":"tcp"}]}]`, port, kind)
}

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("not so: %s", what)
		}
		time.Sleep(10 * time.Millisecond) // a poll
	}
}

// A port that a container publishes leads to the host's, from its start to its end.
func TestDockerPorts(t *testing.T) {
	host, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()

	go func() {
		for {
			c, err := host.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "of the host")
			c.Close()
		}
	}()

	port := host.Addr().(*net.TCPAddr).Port
	at := fmt.Sprintf("127.0.0.1:%d", port)

	e := &engineAPI{list: published(port, "tcp"), changed: make(chan struct{})}
	d := dockerPorts(t, e)
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer d.Stop(t.Context())
	c, err := net.Dial("tcp", at) // open when the engine's start is over
	if err != nil {
		t.Fatal(err)
	}

	if got, err := io.ReadAll(c); string(got) != "of the host" {
		t.Errorf("%q, %v", got, err)
	}
	if want := fmt.Sprintf("published at 127.0.0.1: %d/tcp", port); d.Describe() != want {
		t.Errorf("described as %q, want %q", d.Describe(), want)
	}

	e.set("[]")
	until(t, "the port is closed", func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		return err != nil
	})

	// One that another program has is said to be so, and opened when it is free.
	taken, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}

	e.set(published(port, "tcp"))
	until(t, "a port is said to be taken", func() bool {
		return strings.Contains(d.Describe(), "another program of this machine has it")
	})
	taken.Close() // of which the engine tells nothing
	until(t, "the port is open", func() bool { return !strings.Contains(d.Describe(), "not ") })
}
