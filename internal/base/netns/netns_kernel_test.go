//go:build kernel

package netns_test

import (
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/base/netns"
)

func inode(t *testing.T, path string) string {
	t.Helper()
	link, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func TestPin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "one")
	t.Cleanup(func() { _ = netns.Remove(path) })
	for _, wantMade := range []bool{true, false} {
		made, err := netns.Ensure(path)
		if err != nil || made != wantMade {
			t.Fatalf("Ensure = %v, %v; want made %v", made, err, wantMade)
		}
	}

	var inside, flags string
	err := netns.Do(path, func() error {
		inside = inode(t, "/proc/thread-self/ns/net")
		b, err := os.ReadFile("/proc/thread-self/net/dev")
		flags = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if outside := inode(t, netns.Self); inside == outside {
		t.Errorf("Do ran in the caller's own namespace %s", outside)
	}
	if flags == "" {
		t.Error("no interfaces in the namespace")
	}

	for range 2 {
		if err := netns.Remove(path); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("pin file is still there: %v", err)
	}
}

func TestEnsureRepairsAPlainFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "left")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if there, err := netns.Exists(path); err != nil || there {
		t.Fatalf("Exists of a plain file = %v, %v", there, err)
	}
	t.Cleanup(func() { _ = netns.Remove(path) })
	if made, err := netns.Ensure(path); err != nil || !made {
		t.Fatalf("Ensure = %v, %v", made, err)
	}
}
