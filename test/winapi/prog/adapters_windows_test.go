package prog

import (
	"errors"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// TestAdaptersOfPrograms looks at the names of adapters in the network namespace of TestNetwork in package winapi. The
// aliases of eth2 and eth4 are names of Windows; that of eth3 is not.
func TestAdaptersOfPrograms(t *testing.T) {
	if os.Getenv("WINAPI_NETWORK") == "" {
		t.Skip("needs a network of its own")
	}
	const virtual = "Hyper-V Virtual Ethernet Adapter"
	want := map[string]string{ // descriptions by names
		"eth0": "eth0", "eth3": "eth3", "eth5": "eth5", "vEthernet (Ethernet)": virtual, "Ethernet": "eth4",
	}

	for _, flags := range []uint32{0, windows.GAA_FLAG_INCLUDE_PREFIX} {
		got := map[string]string{}
		for a := range listAdapters(t, flags) {
			got[windows.UTF16PtrToString(a.FriendlyName)] = windows.UTF16PtrToString(a.Description)
		}

		for name, description := range want {
			if got[name] != description {
				t.Errorf("%s is described as %q, want %q; all: %q", name, got[name], description, got)
			}
		}

		if got["eth2"]+got["eth4"] != "" {
			t.Errorf("Linux' names: %q", got)
		}
	}

	testOtherNames(t, want)
}

// listAdapters yields what GetAdaptersAddresses lists, in a buffer as large as it asks for.
func listAdapters(t *testing.T, flags uint32) func(func(*windows.IpAdapterAddresses) bool) {
	t.Helper()
	var size uint32
	err := windows.GetAdaptersAddresses(windows.AF_UNSPEC, flags, 0, nil, &size)
	if !errors.Is(err, windows.ERROR_BUFFER_OVERFLOW) {
		t.Fatalf("without a buffer: %v", err)
	}

	small := size - 1
	buffer := make([]byte, size)
	first := (*windows.IpAdapterAddresses)(unsafe.Pointer(&buffer[0]))
	err = windows.GetAdaptersAddresses(windows.AF_UNSPEC, flags, 0, first, &small)
	if !errors.Is(err, windows.ERROR_BUFFER_OVERFLOW) {
		t.Fatalf("in a buffer that is too small: %v", err)
	}
	if err := windows.GetAdaptersAddresses(windows.AF_UNSPEC, flags, 0, first, &size); err != nil {
		t.Fatal(err)
	}

	return func(yield func(*windows.IpAdapterAddresses) bool) {
		for a := first; a != nil && yield(a); a = a.Next {
			if i := slices.Index(buffer, 0); i < 0 { // the buffer is kept as long as what lies in it
				return
			}
		}
	}
}

// testOtherNames asks the newer functions for the same names.
func testOtherNames(t *testing.T, want map[string]string) {
	t.Helper()
	dll := windows.NewLazySystemDLL("iphlpapi.dll")
	var table *struct {
		n, _ uint32
		rows [1 << 10]windows.MibIfRow2
	}
	if rc, _, _ := dll.NewProc("GetIfTable2").Call(uintptr(unsafe.Pointer(&table))); rc != 0 {
		t.Fatal(windows.Errno(rc))
	}

	defer windows.FreeMibTable(unsafe.Pointer(table))

	seen := 0
	for i := range table.rows[:table.n] {
		row := &table.rows[i]
		name := windows.UTF16ToString(row.Alias[:])
		description, known := want[name]
		if !known {
			continue
		}

		seen++
		if got := windows.UTF16ToString(row.Description[:]); got != description {
			t.Errorf("GetIfTable2: %s is described as %q", name, got)
		}
		one := windows.MibIfRow2{InterfaceIndex: row.InterfaceIndex}
		err := windows.GetIfEntry2Ex(windows.MibIfEntryNormal, &one)
		if got := windows.UTF16ToString(one.Alias[:]); err != nil || got != name {
			t.Errorf("GetIfEntry2Ex: %s is %q, %v", name, got, err)
		}

		one = windows.MibIfRow2{InterfaceIndex: row.InterfaceIndex}
		rc, _, _ := dll.NewProc("GetIfEntry2").Call(uintptr(unsafe.Pointer(&one)))
		if got := windows.UTF16ToString(one.Alias[:]); rc != 0 || got != name {
			t.Errorf("GetIfEntry2: %s is %q, %v", name, got, windows.Errno(rc))
		}

		var alias [257]uint16
		rc, _, _ = dll.NewProc("ConvertInterfaceLuidToAlias").
			Call(uintptr(unsafe.Pointer(&row.InterfaceLuid)), uintptr(unsafe.Pointer(&alias[0])), uintptr(len(alias)))
		if got := windows.UTF16ToString(alias[:]); rc != 0 || got != name {
			t.Errorf("ConvertInterfaceLuidToAlias: %s is %q, %v", name, got, windows.Errno(rc))
		}

		var luid uint64
		rc, _, _ = dll.NewProc("ConvertInterfaceAliasToLuid").
			Call(uintptr(unsafe.Pointer(&row.Alias[0])), uintptr(unsafe.Pointer(&luid)))
		if rc != 0 || luid != row.InterfaceLuid {
			t.Errorf("ConvertInterfaceAliasToLuid: %s is %d, %v, want %d", name, luid, windows.Errno(rc), row.InterfaceLuid)
		}
	}

	if seen != len(want) {
		t.Errorf("GetIfTable2: %d of %d names", seen, len(want))
	}
}
