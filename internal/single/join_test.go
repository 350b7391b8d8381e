package single

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// TestNotJoined says what to do about a port that cannot be had, and about a machine without TAP devices.
func TestNotJoined(t *testing.T) {
	port := nat.Port{
		Addr:      netip.MustParseAddr("127.0.0.1"),
		Host:      65535,
		Container: 80,
		Protocol:  wire.TCP,
	}

	for _, tc := range []struct {
		err             error
		message, remedy string
	}{
		{
			&nat.PortError{
				Port:  port,
				Taken: true,
				Err:   unix.EADDRINUSE,
			},
			"publish 127.0.0.1:65535/tcp: another program of this machine has the port", "(-p 8081:80), or end the program that has it",
		},
		{
			errors.Join(&nat.PortError{Port: port, Err: unix.EADDRNOTAVAIL}),
			"publish 127.0.0.1:65535/tcp: cannot assign requested address", "name another address or port",
		},
		{&nat.NoTunError{Err: os.ErrNotExist}, "this machine has no TAP devices: file does not exist", "modprobe tun"},
	} {
		r, ok := errors.AsType[*Refusal](notJoined(tc.err))
		if !ok || r.Code != CodeFailed || r.Message != tc.message || !strings.Contains(r.Remedy, tc.remedy) {
			t.Errorf("%v: %+v", tc.err, r)
		}
	}

	if err := errors.New("another"); !errors.Is(notJoined(err), err) {
		t.Error("another error is not what it was")
	}
}

// TestCanJoin: where mullion-nat is not built, a container that wants a network is refused before an image is pulled
// for it, with the command that builds it; one without a network is not.
func TestCanJoin(t *testing.T) {
	dir := t.TempDir()
	s := &service{options: Options{Paths: At(dir, dir)}}
	s.network = s.newNetwork()
	for _, network := range []Network{NAT, ""} {
		r, ok := errors.AsType[*Refusal](s.canJoin(Run{Network: network}))
		if !ok || r.Code != CodeFailed || !strings.Contains(r.Message, "there is no "+dir+"/mullion-nat") ||
			!strings.HasPrefix(r.Remedy, "`make mullion-nat` builds it") {
			t.Errorf("%q: %+v", network, r)
		}
	}

	if err := s.canJoin(Run{Network: None}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(dir+"/mullion-nat", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.canJoin(Run{}); err != nil {
		t.Error(err)
	}
}
