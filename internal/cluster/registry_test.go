package cluster

import (
	"errors"
	"net"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/spec"
)

// TestSettleRegistry: a port that somebody has is refused, at first and when a cluster gets a registry later; a cluster
// keeps the registry that it has.
func TestSettleRegistry(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	text := "listen on 127.0.0.1 port " + strconv.Itoa(port)

	paths := layout.Paths{Data: t.TempDir()}
	want := unusual(t)
	want.Registry = &spec.Registry{Port: port}
	_, _, err = settle(want, paths, nil)
	wantConflict(t, err, text)

	want.Registry.Port = winnode.CRIPort
	_, _, err = settle(want, paths, nil)
	wantConflict(t, err, "a node's own programs have it")

	want.Registry = nil
	if _, _, err = settle(want, paths, nil); err != nil {
		t.Fatal(err)
	}
	want.Registry = &spec.Registry{Port: port}
	_, _, err = settle(want, paths, nil)
	wantConflict(t, err, text)

	l.Close()
	with, have, err := settle(want, paths, nil)
	if err != nil || have == nil || have.Registry != nil || with.Registry == nil {
		t.Fatalf("with a registry: %+v, %+v, %v", with.Registry, have, err)
	}
	if err := paths.SaveSpec(with); err != nil {
		t.Fatal(err)
	}

	want.Registry = nil
	kept, have, err := settle(want, paths, nil)
	if err != nil || have != nil || kept.Registry == nil || kept.Registry.Port != port {
		t.Errorf("without a word of it: %+v, %+v, %v", kept.Registry, have, err)
	}
}

// TestRegistryPortOfIPv6: while the registry has its port, nobody else gets it at the other address that localhost is,
// and clients are refused there.
func TestRegistryPortOfIPv6(t *testing.T) {
	other, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("the machine has no loopback address of IPv6: %v", err)
	}
	port := other.Addr().(*net.TCPAddr).Port
	if l, err := listenRegistry(port); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("somebody has it at ::1: %v, %v", l, err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}

	l, err := listenRegistry(port)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"[::1]", "[::]"} {
		if other, err := net.Listen("tcp6", address+":"+strconv.Itoa(port)); !errors.Is(err, unix.EADDRINUSE) {
			t.Errorf("somebody listens at %s: %v, %v", address, other, err)
		}
	}
	if c, err := net.Dial("tcp", "[::1]:"+strconv.Itoa(port)); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("connect to ::1: %v, %v", c, err)
	}
	c, err := net.Dial("tcp", "localhost:"+strconv.Itoa(port))
	if err != nil {
		t.Errorf("connect to localhost: %v", err)
	} else {
		c.Close()
	}

	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if other, err = net.Listen("tcp", "[::1]:"+strconv.Itoa(port)); err != nil {
		t.Fatalf("afterwards: %v", err)
	}
	other.Close()
}
