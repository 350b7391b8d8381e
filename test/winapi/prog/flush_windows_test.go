package prog

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// TestFlushBuffersFileEx flushes a file with each flag, as PostgreSQL does (src/port/win32fdatasync.c); ntifs.h has the
// flags. Parameters that it does not know are refused.
func TestFlushBuffersFileEx(t *testing.T) {
	flush := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtFlushBuffersFileEx")
	if err := flush.Find(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("text"); err != nil {
		t.Fatal(err)
	}

	call := func(handle, flags, size uintptr) windows.NTStatus {
		io := windows.IO_STATUS_BLOCK{Status: windows.STATUS_PENDING}
		status, _, _ := flush.Call(handle, flags, 0, size, uintptr(unsafe.Pointer(&io)))
		if windows.NTStatus(status) == windows.STATUS_SUCCESS && io.Status != windows.STATUS_SUCCESS {
			t.Errorf("flags %d: it returns success, its block says %v", flags, io.Status)
		}
		return windows.NTStatus(status)
	}

	const dataOnly, noSync, dataSyncOnly = 1, 2, 4
	for _, flags := range []uintptr{0, dataOnly, noSync, dataSyncOnly} {
		if got := call(file.Fd(), flags, 0); got != windows.STATUS_SUCCESS {
			t.Errorf("flags %d: %v", flags, got)
		}
	}

	for _, test := range []struct {
		name                string
		handle, flags, size uintptr
		want                windows.NTStatus
	}{
		{"no handle of a file", 0x7ffc, 0, 0, windows.STATUS_INVALID_HANDLE},
		{"unknown flags", file.Fd(), 0x100, 0, windows.STATUS_INVALID_PARAMETER},
		{"parameters", file.Fd(), 0, 4, windows.STATUS_INVALID_PARAMETER},
	} {
		if got := call(test.handle, test.flags, test.size); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
