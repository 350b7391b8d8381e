package linuxrun

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// listed lists the entries of a layer: name, type, and where it leads or what it has.
func listed(t *testing.T, layer io.Reader) []string {
	t.Helper()
	var all []string
	for r := tar.NewReader(layer); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}

		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %c %d:%d %s%s%q", h.Name, h.Typeflag, h.Uid, h.Gid, h.Linkname, text,
			h.PAXRecords[xattrRecord+capabilityName]))
	}
}

func nothingMounted(string) bool { return false }

// capability is a value of an image's file.
var capability = "\x01\x00\x00\x02" + strings.Repeat("\x04", 16)

// A layer has the users of the container, links as they are, files with several names once, and deletions as images
// have them. Nothing below the folder is asked: a file that was replaced by a folder is one.
func TestWriteUpper(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }

	must(os.MkdirAll(at("etc/was-file"), 0o755))
	must(os.WriteFile(at("etc/was-file/x"), []byte("text"), 0o600))
	must(os.Link(at("etc/was-file/x"), at("same")))
	must(os.Symlink("/etc/passwd", at("away")))
	must(os.Symlink("loop", at("loop")))
	must(os.Mkdir(at("cache"), 0o755))
	must(os.WriteFile(at("cache/left"), nil, 0o600))
	must(unix.Mkfifo(at("pipe"), 0o600))
	must(os.Chmod(at("etc/was-file/x"), 0o4755|os.ModeSetuid))

	want := []string{
		"away 2 0:0 /etc/passwd",
		"etc/ 5 0:0 ",
		"etc/was-file/ 5 0:0 ",
		"etc/was-file/x 0 0:0 text",
		"loop 2 0:0 loop",
		"pipe 6 0:0 ",
		"same 1 0:0 etc/was-file/x",
	}

	if os.Geteuid() == 0 { // others cannot make what overlayfs makes
		must(unix.Mknod(at("etc/gone"), unix.S_IFCHR, 0))
		must(os.Chown(at("away"), 0, 5))
		must(os.Lchown(at("loop"), Owner+1000, Owner+users))
		must(unix.Setxattr(at("etc/was-file"), "user.overlay.opaque", []byte("y"), 0)) // a program has made it
		want[4] = "loop 2 1000:0 loop"
		must(unix.Setxattr(at("same"), capabilityName, []byte(containerCapability(capability)), 0))
		want[3] += fmt.Sprintf("%q", capability)
		want = append(want[:2:2], append([]string{"etc/.wh.gone 0 0:0 "}, want[2:]...)...)
		if unix.Setxattr(at("etc"), "trusted.overlay.opaque", []byte("y"), 0) == nil {
			want = append(want[:2:2], append([]string{"etc/.wh..wh..opq 0 0:0 "}, want[2:]...)...)
		}
	}

	for i, line := range want {
		if !strings.HasSuffix(line, `"`) {
			want[i] += `""`
		}
	}

	var layer bytes.Buffer
	must(writeUpper(t.Context(), dir, func(name string) bool { return name == "/cache" }, &layer))
	if got := strings.Join(listed(t, &layer), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// What a command has written is refused before it is read: a file of holes larger than any disk, a name that is a mark,
// and folders in one another without an end.
func TestWriteUpperRefuses(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	for what, plant := range map[string]func(dir string) error{
		"holes": func(dir string) error {
			name := filepath.Join(dir, "a")
			return errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 8<<40))
		},
		"a mark": func(dir string) error { return os.WriteFile(filepath.Join(dir, ".wh.passwd"), nil, 0o600) },
		"deep":   func(dir string) error { return os.MkdirAll(dir+strings.Repeat("/d", mostDepth+2), 0o700) },
	} {
		dir := t.TempDir()
		if err := plant(dir); err != nil {
			t.Fatal(err)
		}
		err := writeUpper(t.Context(), dir, nothingMounted, io.Discard)
		if !errors.Is(err, errdefs.ErrInvalidArgument) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// All files of a layer have one room.
func TestWriteUpperRoom(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	dir := t.TempDir()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()

	for has, want := range map[room]error{
		{files: 3, bytes: 300}: nil,
		{files: 2, bytes: 300}: errdefs.ErrInvalidArgument,
		{files: 3, bytes: 299}: errdefs.ErrInvalidArgument,
	} {
		u := &upper{
			to:      tar.NewWriter(io.Discard),
			room:    has,
			mounted: nothingMounted,
		}
		if err := u.folder(t.Context(), root, "", 0); !errors.Is(err, want) {
			t.Errorf("%+v: %v", has, err)
		}
	}
}

// writeFunc is a writer.
type writeFunc func(p []byte) (int, error)

// Write implements io.Writer.
func (w writeFunc) Write(p []byte) (int, error) { return w(p) }

// The end of a build ends the writing in the midst of a file.
func TestWriteUpperEnds(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<30)); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	written := 0
	err := writeUpper(ctx, dir, nothingMounted, writeFunc(func(p []byte) (int, error) {
		if written += len(p); written > 1<<20 {
			cancel()
		}
		return len(p), nil
	}))
	if !errors.Is(err, context.Canceled) || written > 1<<23 {
		t.Errorf("%d bytes, %v", written, err)
	}
}

// What a layer of somebody else's says of its files is no more than a container may have: no device, no attribute that
// the kernel believes, no user of the machine, and no more bytes than an image has, be they holes.
func TestTakeIn(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	h := &tar.Header{
		Typeflag: tar.TypeReg,
		Uid:      7,
		PAXRecords: map[string]string{
			"path":                                "x",
			xattrRecord + "security.capability":   capability,
			xattrRecord + "security.selinux":      "a",
			xattrRecord + "trusted.overlay.x":     "a",
			xattrRecord + "user.overlay.opaque":   "y",
			xattrRecord + "user.mine":             "a",
			xattrRecord + "system.posix_acl_look": "a",
		},
	}

	left := wholeRoom()
	if ok, err := takeIn(h, &left); !ok || err != nil || h.Uid != Owner+7 || h.Gid != Owner {
		t.Errorf("%t, %v, %d:%d", ok, err, h.Uid, h.Gid)
	}
	own := h.PAXRecords[xattrRecord+"security.capability"]
	if len(h.PAXRecords) != 3 || h.PAXRecords["path"] == "" || h.PAXRecords[xattrRecord+"user.mine"] == "" {
		t.Errorf("%q", h.PAXRecords)
	}
	if want := "\x01\x00\x00\x03" + strings.Repeat("\x04", 16) + "\x00\x00\x01\x72"; own != want {
		t.Errorf("capabilities %q, want %q", own, want)
	}
	if got := imageCapability(own); got != capability {
		t.Errorf("capabilities %q in an image, want %q", got, capability)
	}
	for _, value := range []string{"", "\x01\x00\x00\x02", capability, own[:20] + "\x00\x00\x00\x00"} {
		if got := imageCapability(value); got != "" {
			t.Errorf("capabilities %q of the machine become %q", value, got)
		}
	}

	for _, kind := range []byte{tar.TypeChar, tar.TypeBlock} {
		if ok, err := takeIn(&tar.Header{Typeflag: kind}, &left); ok || err != nil {
			t.Errorf("device %c: %t, %v", kind, ok, err)
		}
	}

	for _, h := range []tar.Header{{Size: imagebuild.MostBytes + 1}, {Size: -1}, {Uid: users}, {Gid: -1}} {
		if _, err := takeIn(&h, &left); !errors.Is(err, errdefs.ErrInvalidArgument) {
			t.Errorf("%+v: %v", h, err)
		}
	}
	if _, err := takeIn(&tar.Header{}, &room{bytes: 1}); !errors.Is(err, errdefs.ErrInvalidArgument) {
		t.Errorf("one file too many: %v", err)
	}
}
