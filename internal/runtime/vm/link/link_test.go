package link_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/vm/link"
)

// pair returns both ends of a link. serve answers each stream that the host opens.
func pair(t *testing.T, serve func(stream net.Conn)) *link.Host {
	t.Helper()
	a, b := net.Pipe()
	host, err := link.NewHost(a)
	if err != nil {
		t.Fatal(err)
	}

	guest, err := link.NewGuest(b)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _, _ = host.Close(), b.Close() })
	go func() {
		for {
			stream, err := guest.Accept()
			if err != nil {
				return
			}
			go serve(stream)
		}
	}()

	return host
}

// TestStreams: what is asked for arrives as it was said, and behind the answer the stream is the asker's.
func TestStreams(t *testing.T) {
	asked := make(chan link.Request, 1)
	host := pair(t, func(stream net.Conn) {
		defer stream.Close()
		r, err := link.ReadRequest(stream)
		if err != nil {
			t.Errorf("ReadRequest: %v", err)
		}
		asked <- r
		if link.Reply(stream, nil) == nil {
			_, _ = io.Copy(stream, stream)
		}
	})

	want := link.Request{Kind: link.Configure, Config: &link.Config{
		Hostname: "web",
		Interfaces: []link.Interface{{
			Name: "vp1", MAC: "00:15:5d:00:00:01", MTU: 1450, Addresses: []string{"10.244.1.3/24"},
			Routes:     []link.Route{{Gateway: "10.244.1.1"}},
			Neighbours: []link.Neighbour{{Address: "10.244.1.1", MAC: "00:15:5d:00:00:02"}},
		}},
	}}

	stream, err := host.Open(want)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, <-asked); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if _, err := io.WriteString(stream, "hello"); err != nil {
		t.Fatal(err)
	}

	said := make([]byte, 5)
	if _, err := io.ReadFull(stream, said); err != nil || string(said) != "hello" {
		t.Errorf("said %q, %v", said, err)
	}
}

// TestRefusal: an error of the guest is the host's, cut to what a guest may say.
func TestRefusal(t *testing.T) {
	host := pair(t, func(stream net.Conn) {
		_, _ = link.ReadRequest(stream)
		_ = link.Reply(stream, errors.New("no port "+strings.Repeat("x", 1<<20)))
	})
	_, err := host.Open(link.Request{Kind: link.Dial, Port: 80})
	if err == nil || !strings.Contains(err.Error(), "no port xxx") {
		t.Fatalf("error: %v", err)
	}
	if len(err.Error()) > 4<<10 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

// TestHostileAnswers: a guest that does not answer as it should costs the host an error, and neither memory nor time.
func TestHostileAnswers(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	for _, tc := range []struct{ name, says string }{
		{"no-json", "yes\n"},
		{"no-end", strings.Repeat("x", 1<<20)},
		{"end", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host := pair(t, func(stream net.Conn) {
				_, _ = link.ReadRequest(stream)
				_, _ = io.WriteString(stream, tc.says)
				_ = stream.Close()
			})
			if _, err := host.OpenWithin(link.Request{Kind: link.Tasks}, 10*time.Second); err == nil {
				t.Error("the stream is open")
			}
		})
	}
}

// TestSilentGuest: a guest that never answers is waited for no longer than asked.
func TestSilentGuest(t *testing.T) {
	host := pair(t, func(net.Conn) {})
	if _, err := host.OpenWithin(link.Request{Kind: link.Tasks}, 50*time.Millisecond); err == nil {
		t.Error("the stream is open")
	}
}

func TestEvents(t *testing.T) {
	var seen []string
	see := func(e link.Event) { seen = append(seen, e.OutOfMemory) }
	if err := link.ReadEvents(strings.NewReader(`{"outOfMemory":"a"}`+"\n"+`{"outOfMemory":"b"}`+"\n"), see); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, seen); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}

	for _, text := range []string{"no\n", `{"outOfMemory":"` + strings.Repeat("x", 1<<16) + `"}`} {
		if err := link.ReadEvents(strings.NewReader(text), see); err == nil {
			t.Errorf("events %.20q were read", text)
		}
	}
}
