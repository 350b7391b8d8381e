package prog

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// TestFlushProcessWriteBuffers looks, behind Wine, whether the kernel has been told to expect barriers for this
// process: membarrier(2) refuses them otherwise.
func TestFlushProcessWriteBuffers(t *testing.T) {
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() != nil {
		t.Skip("this is Windows")
	}
	flush := windows.NewLazySystemDLL("kernel32.dll").NewProc("FlushProcessWriteBuffers")
	for range 3 {
		_, _, _ = flush.Call()
	}

	// push rdi; push rsi; mov eax, 324 (membarrier); mov edi, 8 (MEMBARRIER_CMD_PRIVATE_EXPEDITED); xor esi, esi;
	// xor edx, edx; syscall; pop rsi; pop rdi; ret
	code := []byte{
		0x57, 0x56, 0xb8, 0x44, 0x01, 0, 0, 0xbf, 8, 0, 0, 0, 0x31, 0xf6, 0x31, 0xd2, 0x0f, 0x05, 0x5e, 0x5f, 0xc3,
	}
	at, err := windows.VirtualAlloc(0, 4096, windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_EXECUTE_READWRITE)
	if err != nil {
		t.Fatal(err)
	}

	var done uintptr
	self := windows.CurrentProcess()
	if err := windows.WriteProcessMemory(self, at, &code[0], uintptr(len(code)), &done); err != nil {
		t.Fatal(err)
	}
	if result, _, _ := syscall.SyscallN(at); result != 0 {
		t.Errorf("membarrier: %d, want 0", int64(result))
	}
}

// TestPlaceholders takes the steps of V8 and .NET: they look for the functions, and rely on them if they are found.
func TestPlaceholders(t *testing.T) {
	const (
		reservePlaceholder, replacePlaceholder, preservePlaceholder = 0x40000, 0x4000, 2
		page, release                                               = 4096, windows.MEM_RELEASE
	)
	kernelbase := windows.NewLazySystemDLL("kernelbase.dll")
	allocate, mapView := kernelbase.NewProc("VirtualAlloc2"), kernelbase.NewProc("MapViewOfFile3")
	if allocate.Find() != nil || mapView.Find() != nil {
		return // as on a Windows that has no placeholders
	}

	self := uintptr(windows.CurrentProcess())
	at, _, err := allocate.Call(self, 0, 2*page, windows.MEM_RESERVE|reservePlaceholder, windows.PAGE_NOACCESS, 0, 0)
	if at == 0 {
		t.Fatalf("reserve: %v", err)
	}
	free := windows.NewLazySystemDLL("kernel32.dll").NewProc("VirtualFree")
	if ok, _, err := free.Call(at, page, release|preservePlaceholder); ok == 0 {
		t.Fatalf("split: %v", err)
	}

	if got, _, err := allocate.Call(self, at, page, windows.MEM_RESERVE|windows.MEM_COMMIT|replacePlaceholder,
		windows.PAGE_READWRITE, 0, 0); got != at {
		t.Fatalf("replace by memory: %v", err)
	}
	section, err := windows.CreateFileMapping(windows.InvalidHandle, nil, windows.PAGE_READWRITE, 0,
		2*page, nil)
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = windows.CloseHandle(section) }()
	if got, _, err := mapView.Call(uintptr(section), self, at+page, page, page, replacePlaceholder,
		windows.PAGE_READWRITE, 0, 0); got != at+page {
		t.Fatalf("replace by a view: %v", err)
	}
}

// TestKeepAliveOptions sets the options of keep-alive as libuv does, before the socket is connected, and as Go does.
func TestKeepAliveOptions(t *testing.T) {
	s, err := windows.Socket(windows.AF_INET, windows.SOCK_STREAM, windows.IPPROTO_TCP)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows.Closesocket(s) }()

	for _, tt := range []struct {
		name          string
		option, value int
	}{{"TCP_KEEPIDLE", 3, 61}, {"TCP_KEEPCNT", 16, 7}, {"TCP_KEEPINTVL", 17, 3}} {
		t.Run(tt.name, func(t *testing.T) {
			if err := windows.SetsockoptInt(s, windows.IPPROTO_TCP, tt.option, tt.value); err != nil {
				t.Fatal(err)
			}
			if got, err := windows.GetsockoptInt(s, windows.IPPROTO_TCP, tt.option); err != nil || got != tt.value {
				t.Errorf("read back: got %d, %v, want %d", got, err, tt.value)
			}
		})
	}

	if err := windows.SetsockoptInt(s, windows.IPPROTO_TCP, 3, -1); !errors.Is(err, windows.WSAEINVAL) {
		t.Errorf("a negative time: %v, want %v", err, windows.WSAEINVAL)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}

	defer c.Close()
	config := net.KeepAliveConfig{
		Enable:   true,
		Idle:     5 * time.Second,
		Interval: time.Second,
		Count:    3,
	}

	if err := c.(*net.TCPConn).SetKeepAliveConfig(config); err != nil {
		t.Error(err)
	}
}

// TestCompressionInformation asks of a file what kj (workerd) asks of each: how much of the disk it takes.
func TestCompressionInformation(t *testing.T) {
	const fileCompressionInfo = 8 // FILE_INFO_BY_HANDLE_CLASS
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}

	info := [16]byte{8: 0xff} // the size, then the format
	if err := windows.GetFileInformationByHandleEx(windows.Handle(f.Fd()), fileCompressionInfo, &info[0],
		uint32(len(info))); err != nil {
		t.Fatal(err)
	}
	if size, format := binary.LittleEndian.Uint64(info[:]), info[8]; size < 5000 || size > 1<<20 || format != 0 {
		t.Errorf("size %d, format %d, want that of 5000 bytes, uncompressed", size, format)
	}
}

// TestChainEngine makes an engine for chains of certificates with the structure of each Windows, as Rust programs do
// (rustls-platform-verifier) with the newest.
func TestChainEngine(t *testing.T) {
	crypt32 := windows.NewLazySystemDLL("crypt32.dll")
	create, free := crypt32.NewProc("CertCreateCertificateChainEngine"), crypt32.NewProc("CertFreeCertificateChainEngine")
	for _, size := range []byte{64, 80, 88} { // CERT_CHAIN_ENGINE_CONFIG in Windows XP, 7 and 8
		config := [88]byte{0: size}
		var engine uintptr
		if ok, _, err := create.Call(uintptr(unsafe.Pointer(&config)), uintptr(unsafe.Pointer(&engine))); ok == 0 {
			t.Errorf("a structure of %d bytes: %v", size, err)
			continue
		}
		_, _, _ = free.Call(engine)
	}
}
