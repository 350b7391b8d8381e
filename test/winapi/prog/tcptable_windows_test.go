package prog

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// loopbackPorts returns the TCP ports that something listens on at 127.0.0.1 (TCP_TABLE_BASIC_LISTENER of iprtrmib.h).
func loopbackPorts(t *testing.T) map[int]bool {
	t.Helper()
	const tableBasicListener = 0
	get := windows.NewLazySystemDLL("iphlpapi.dll").NewProc("GetExtendedTcpTable")
	buffer := make([]byte, 64<<10)
	size := uint32(len(buffer))
	if code, _, _ := get.Call(uintptr(unsafe.Pointer(&buffer[0])), uintptr(unsafe.Pointer(&size)), 0, windows.AF_INET,
		tableBasicListener, 0); code != 0 {
		t.Fatalf("list listening sockets: %v", windows.Errno(code))
	}

	ports := map[int]bool{}
	for i := range binary.LittleEndian.Uint32(buffer) {
		row := buffer[4+20*i:] // MIB_TCPROW: state, local address, local port, remote address, remote port
		if row[4] == 127 {
			ports[int(binary.BigEndian.Uint16(row[8:]))] = true
		}
	}

	return ports
}
