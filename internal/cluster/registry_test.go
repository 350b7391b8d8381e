package cluster

import (
	"net"
	"strconv"
	"testing"

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
