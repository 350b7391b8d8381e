package prog

import (
	"io"
	"testing"
	"time"
	"unsafe"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// TestPipeListener serves a named pipe as the kubelet does its pod resources; the first client must be served too.
func TestPipeListener(t *testing.T) {
	const name = `\\.\pipe\mullion-winapi-test`
	l, err := winio.ListenPipe(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	go echo(l)
	for i := range 4 {
		timeout := 5 * time.Second
		c, err := winio.DialPipe(name, &timeout)
		if err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
			t.Fatal(err)
		}

		if _, err := c.Write([]byte("hi")); err != nil {
			t.Errorf("client %d: %v", i, err)
		}
		answer := make([]byte, 2)
		if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "hi" {
			t.Errorf("client %d: got %q, %v", i, answer, err)
		}
		c.Close()
	}
}

// TestPipeNameCase makes a named pipe with regard to case, which Windows does not have (ObCaseInsensitive), by the name
// in small letters. go-winio v0.4.15 does so, by which the kubelet of 1.20 serves dockershim's.
func TestPipeNameCase(t *testing.T) {
	for _, attributes := range []uint32{0, windows.OBJ_CASE_INSENSITIVE} {
		name, err := windows.NewNTUnicodeString(`\??\pipe\mullion-case-test`)
		if err != nil {
			t.Fatal(err)
		}
		oa := windows.OBJECT_ATTRIBUTES{ObjectName: name, Attributes: attributes}
		oa.Length = uint32(unsafe.Sizeof(oa))

		var pipe windows.Handle
		var io windows.IO_STATUS_BLOCK
		timeout := int64(-50 * 10000) // 50 ms in steps of 100 ns
		const rights = windows.GENERIC_READ | windows.GENERIC_WRITE | windows.SYNCHRONIZE
		const shared = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE
		err = windows.NtCreateNamedPipeFile(&pipe, rights, &oa, &io, shared, windows.FILE_OPEN_IF, 0,
			windows.FILE_PIPE_BYTE_STREAM_TYPE, windows.FILE_PIPE_BYTE_STREAM_MODE, 0, 0xffffffff, 4096, 4096, &timeout)
		if err != nil {
			t.Errorf("attributes %#x: %v", attributes, err)
			continue
		}

		wait := 5 * time.Second
		if c, err := winio.DialPipe(`\\.\PIPE\Mullion-Case-Test`, &wait); err != nil {
			t.Errorf("attributes %#x: a client: %v", attributes, err)
		} else {
			c.Close()
		}
		windows.CloseHandle(pipe)
	}
}
