//go:build kernel

package initiator

import (
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/hostservices/iscsi"
	"mullion.dev/mullion/internal/hostservices/iscsi/iscsitest"
)

// TestTake looks at disks by a session that is over meanwhile, or that another has followed: it is not taken again, or
// who uses the disks would wait for its end.
func TestTake(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	path := filepath.Join(t.TempDir(), "netns")
	if _, err := netns.Ensure(path); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = netns.Remove(path) })
	server := iscsitest.Start(t, path, "127.0.0.1")
	k := &kept{lost: make(chan struct{}), asked: asked{Login: iscsi.Login{
		Portal: server.Portal, Initiator: NameOf("win-1"), Target: iscsitest.Open, ISID: [6]byte{0x80, 1, 2, 3, 4, 5},
	}}}

	k.changed.L = &k.mu
	login := func() *iscsi.Session {
		t.Helper()
		if err := netns.Do(path, func() error { return k.login(t.Context()) }); err != nil {
			t.Fatal(err)
		}
		return k.now()
	}

	first := login()
	defer first.Close()
	if err := k.take(first, k.units); err != nil {
		t.Errorf("what is there is not looked at anew: %v", err)
	}

	k.session = nil // as watch does when it is over
	second := login()
	defer second.Close()
	if err := k.take(first, k.units); err == nil || k.now() != second {
		t.Errorf("a session that another has followed is taken: %v", err)
	}

	second.Close()
	k.session = nil
	if err := k.take(second, k.units); err == nil || k.now() != nil {
		t.Errorf("a session that is over is taken: %v", err)
	}
}
