package linuxrun

import (
	"testing"

	"github.com/opencontainers/go-digest"
)

// What is mounted, and the kernel's own, is in no layer; what only begins with such a name is.
func TestMounted(t *testing.T) {
	c := Command{Mounts: []Mount{{Target: "/root/.cache/"}, {Target: "/etc/hosts"}}}
	for name, want := range map[string]bool{
		"/root/.cache": true, "/root/.cache/x/y": true, "/root/.cached": false, "/root": false, "/etc/hosts": true,
		"/etc/hosts.allow": false, "/proc": true, "/dev/null": true, "/device": false,
	} {
		if got := c.mounted(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A snapshot is named by all layers below it, in their order.
func TestSnapshotOf(t *testing.T) {
	a, b := Layer{DiffID: digest.FromString("a")}, Layer{DiffID: digest.FromString("b")}
	names := map[string]bool{}
	for _, layers := range [][]Layer{{a}, {b}, {a, b}, {b, a}, {a, b, a}} {
		names[snapshotOf(layers)] = true
	}
	if len(names) != 5 {
		t.Errorf("%d names for 5 images", len(names))
	}
}
