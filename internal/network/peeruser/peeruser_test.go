package peeruser

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

// TestOf asks for the user of this test, by each kind of connection.
func TestOf(t *testing.T) {
	for network, at := range map[string]string{
		"tcp4": "127.0.0.1:0",
		"tcp6": "[::1]:0",
		"tcp":  "[::]:0", // IPv4 in IPv6
		"unix": filepath.Join(t.TempDir(), "s"),
	} {
		t.Run(network, func(t *testing.T) {
			l, err := net.Listen(network, at)
			if err != nil {
				t.Skip(err) // a machine without IPv6
			}
			defer l.Close()

			to := l.Addr().String()
			if network == "tcp" {
				to = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), l.Addr().(*net.TCPAddr).AddrPort().Port()).String()
			}
			client, err := net.Dial(network, to)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()

			if uid, err := Of(server); err != nil || int(uid) != os.Geteuid() {
				t.Errorf("user %d, %v, and the test is %d", uid, err, os.Geteuid())
			}
		})
	}
}

// One that comes from elsewhere is nobody's here, also if something listens at its port.
func TestElsewhere(t *testing.T) {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	here := netip.MustParseAddrPort("127.0.0.1:6443")
	for _, port := range []uint16{1, l.Addr().(*net.TCPAddr).AddrPort().Port()} {
		from := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.7"), port)
		if uid, err := ofTCP(from, here); !errors.Is(err, ErrElsewhere) {
			t.Errorf("from %s: user %d, %v", from, uid, err)
		}
	}

	if _, err := Of(nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("of no connection: %v", err)
	}
}
