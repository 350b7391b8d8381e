//go:build kernel

package hcs

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestEmptyWindows: a base layer whose folder Windows has empty files of the registry alone keeps its name, and a
// container does not see it; any other one is called as in Wine's C:.
func TestEmptyWindows(t *testing.T) {
	h := newBinder(t)
	const config = "layers/base/Files/Windows/System32/config/"
	for _, hive := range []string{"SYSTEM", "SAM"} {
		h.write(t, config+hive, string(make([]byte, emptyHive)))
	}
	h.ok(t, "ProcessBaseImage", baseLayer)
	if _, err := os.Stat(h.file(config + "SAM")); err != nil {
		t.Error(err)
	}

	opened, err := h.layers.openForContainer([]string{baseLayer})
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(opened)
	if len(opened) != 2 {
		t.Fatalf("%d folders are below a container of it", len(opened))
	}
	var s unix.Stat_t
	err = unix.Stat(filepath.Join(opened[0].Name(), files, "Windows"), &s)
	if err != nil || s.Mode&unix.S_IFMT != unix.S_IFCHR || s.Rdev != 0 {
		t.Errorf("what hides it: %v, mode %o", err, s.Mode)
	}

	for _, more := range []string{"System32/more.txt", "more/x.txt", "System32/config/SOFTWARE"} {
		if err := os.RemoveAll(h.file("layers/base/Files")); err != nil {
			t.Fatal(err)
		}
		h.write(t, config+"SAM", "")
		h.write(t, "layers/base/Files/Windows/"+more, string(make([]byte, emptyHive+1)))
		h.ok(t, "ProcessBaseImage", baseLayer)
		if _, err := os.Stat(h.file("layers/base/Files/windows/" + more)); err != nil {
			t.Errorf("with %s: %v", more, err)
		}
	}
}

// TestEmptyWindowsOfManyFiles: a folder of more files than Windows has of the registry is none of an empty Windows, and
// a pipe in the place of Windows holds nobody up.
func TestEmptyWindowsOfManyFiles(t *testing.T) {
	h := newBinder(t)
	const config = "layers/base/Files/Windows/System32/config/"
	for i := range mostHives + 1 {
		h.write(t, config+strconv.Itoa(i), "")
	}
	h.ok(t, "ProcessBaseImage", baseLayer)
	if _, err := os.Stat(h.file("layers/base/Files/windows/System32")); err != nil {
		t.Errorf("many files: %v", err)
	}

	if err := errors.Join(os.RemoveAll(h.file("layers/base/Files/windows")),
		unix.Mkfifo(h.file("layers/base/Files/Windows"), 0o600)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = h.Call(t.Context(), "ProcessBaseImage", []string{baseLayer})
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for a pipe")
	}
}
