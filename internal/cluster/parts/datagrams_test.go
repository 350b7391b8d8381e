package parts

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"
)

// echoDatagrams returns the address of a server that sends every datagram back.
func echoDatagrams(t *testing.T) netip.AddrPort {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })

	go func() {
		buffer := make([]byte, mostDatagram)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			server.WriteTo(buffer[:n], from)
		}
	}()

	return server.LocalAddr().(*net.UDPAddr).AddrPort()
}

// Datagrams go both ways, for several clients, and nothing is left when the port is closed.
func TestDatagrams(t *testing.T) {
	to := echoDatagrams(t)
	before := runtime.NumGoroutine()
	from := netip.MustParseAddrPort("127.0.0.1:0")
	d, err := startDatagrams(context.Background(), from, to, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}

	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			c, err := net.Dial("udp", d.local.LocalAddr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()

			c.SetDeadline(time.Now().Add(10 * time.Second))
			text, got := fmt.Sprint("client ", i), make([]byte, 100)
			for range 3 {
				fmt.Fprint(c, text)
				if n, err := c.Read(got); err != nil || string(got[:n]) != text {
					t.Errorf("%q came back as %q, %v", text, got[:n], err)
				}
			}
		})
	}

	all.Wait()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	goroutines(t, before)
}

// A client that asks at one of several addresses is answered from it: a connected socket takes no other answer.
func TestDatagramsAtAllAddresses(t *testing.T) {
	to := echoDatagrams(t)
	for all, asked := range map[string][]string{
		"0.0.0.0": {"127.0.0.1", "127.0.0.3"},
		"::":      {"127.0.0.1", "127.0.0.3", "::1"},
	} {
		t.Run(all, func(t *testing.T) { askAt(t, all, asked, to) })
	}
}

func askAt(t *testing.T, all string, asked []string, to netip.AddrPort) {
	t.Helper()
	at := netip.AddrPortFrom(netip.MustParseAddr(all), 0)
	d, err := startDatagrams(t.Context(), at, to, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skip(err) // a machine without IPv6
	}

	port := d.local.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	for _, address := range asked {
		c, err := net.Dial("udp", netip.AddrPortFrom(netip.MustParseAddr(address), port).String())
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}

		c.SetDeadline(time.Now().Add(10 * time.Second))
		got := make([]byte, 100)
		fmt.Fprint(c, "hello")
		if n, err := c.Read(got); err != nil || string(got[:n]) != "hello" {
			t.Errorf("at %s: %q, %v", address, got[:n], err)
		}
		c.Close()
	}

	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// A client with many ports leaves others their flows.
func TestDatagramsOfAGreedyClient(t *testing.T) {
	d, err := startDatagrams(t.Context(), netip.MustParseAddrPort("127.0.0.1:0"), echoDatagrams(t),
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	of := func(address string, port int) udpFlow {
		return udpFlow{client: netip.AddrPortFrom(netip.MustParseAddr(address), uint16(port))}
	}
	for port := range mostFlows {
		_, err := d.flow(of("192.0.2.7", 1+port))
		if taken := port < mostFlows/2; taken != (err == nil) {
			t.Fatalf("flow %d of one client: %v", 1+port, err)
		}
	}
	if _, err := d.flow(of("192.0.2.8", 1)); err != nil {
		t.Errorf("another client: %v", err)
	}
}
