package linuxrun

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
)

// A layer has the users of the container, and deletions as images have them, whatever the machine's files say.
func TestWithUsers(t *testing.T) {
	var from, to bytes.Buffer
	w := tar.NewWriter(&from)
	for _, h := range []tar.Header{
		{Name: "own", Uid: Owner, Gid: Owner + 7, Typeflag: tar.TypeReg},
		{Name: "of-the-machine", Uid: 0, Gid: 5, Typeflag: tar.TypeDir},
		{Name: "beyond", Uid: Owner + users, Gid: Owner - 1, Typeflag: tar.TypeReg},
		{Name: "dir/gone", Typeflag: tar.TypeChar},
		{Name: "dir/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(w.Close(), withUsers(&to, &from)); err != nil {
		t.Fatal(err)
	}

	var got []string
	for r := tar.NewReader(&to); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %d:%d %c", h.Name, h.Uid, h.Gid, h.Typeflag))
	}

	const want = "own 0:7 0, of-the-machine 0:0 5, beyond 0:0 0, dir/.wh.gone 0:0 0, dir/null 0:0 3"
	if said := strings.Join(got, ", "); said != want {
		t.Errorf("%s\nwant\n%s", said, want)
	}
}

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
