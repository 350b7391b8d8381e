package prog

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

func TestFindFirstFileTag(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "target"))
	symlink(t, "target", filepath.Join(dir, "dirlink"))
	symlink(t, "none", filepath.Join(dir, "dangling"))
	for _, name := range []string{"dirlink", "dangling"} {
		p, err := windows.UTF16PtrFromString(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}

		var data windows.Win32finddata
		h, err := windows.FindFirstFile(p, &data)
		if err != nil {
			t.Errorf("find %s: %v", name, err)
			continue
		}

		_ = windows.FindClose(h)
		if data.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT == 0 ||
			data.Reserved0 != windows.IO_REPARSE_TAG_SYMLINK {
			t.Errorf("%s: attributes %#x, tag %#x", name, data.FileAttributes, data.Reserved0)
		}
	}
}

// TestFolderNotifies watches a folder as the kubelet's plugin watcher does (fsnotify, ReadDirectoryChangesW).
func TestFolderNotifies(t *testing.T) {
	dir := t.TempDir()
	h := open(t, dir, windows.FILE_LIST_DIRECTORY, windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OVERLAPPED)
	buffer := make([]byte, 4096)
	wait := func() map[string]bool {
		event, err := windows.CreateEvent(nil, 1, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer windows.CloseHandle(event)
		overlapped := windows.Overlapped{HEvent: event}
		err = windows.ReadDirectoryChanges(h, &buffer[0], uint32(len(buffer)), false,
			windows.FILE_NOTIFY_CHANGE_FILE_NAME|windows.FILE_NOTIFY_CHANGE_DIR_NAME, nil, &overlapped, 0)
		if err != nil {
			t.Fatal(err)
		}

		if got, err := windows.WaitForSingleObject(event, 5000); got != windows.WAIT_OBJECT_0 {
			t.Fatalf("no notification: %v", err)
		}

		names := map[string]bool{}
		for at := uint32(0); ; {
			length := binary.LittleEndian.Uint32(buffer[at+8:])
			names[windows.UTF16ToString(unsafe.Slice((*uint16)(unsafe.Pointer(&buffer[at+12])), length/2))] = true
			next := binary.LittleEndian.Uint32(buffer[at:])
			if next == 0 {
				return names
			}
			at += next
		}
	}

	seen := make(chan map[string]bool, 1)
	expect := func(name string, do func()) {
		go func() {
			time.AfterFunc(200*time.Millisecond, do)
			seen <- wait()
		}()
		if got := <-seen; !got[name] {
			t.Errorf("notified of %v, want %s", got, name)
		}
	}

	expect("plugin.sock", func() {
		if l, err := net.Listen("unix", filepath.Join(dir, "plugin.sock")); err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
	})
	expect("link", func() { _ = os.Symlink("none", filepath.Join(dir, "link")) })
}
