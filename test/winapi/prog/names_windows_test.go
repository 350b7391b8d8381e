package prog

import (
	"errors"
	"net"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// needsNames skips unless the program runs with the name server and the hosts file of TestNames in package winapi. The
// DNS suffix is svc.test.
func needsNames(t *testing.T) {
	t.Helper()
	if os.Getenv("WINAPI_NAMES") == "" {
		t.Skip("needs a name server of its own")
	}
}

// hostNames are names and their one address; "" is for those that must not be found.
var hostNames = []struct{ name, address string }{
	{"one", "192.0.2.1"},
	{"one.svc.test", "192.0.2.1"},
	{"one.svc.test.", "192.0.2.1"},
	{"ONE.Svc.Test", "192.0.2.1"},
	{"whole.example", "192.0.2.3"},
	{"alias", "192.0.2.1"},
	{"one.other", ""}, // the server knows one.other.svc.test
	{"one.other.svc.test", "192.0.2.2"},
	{"nothing", ""},
	{"nothing.example", ""},
	{"local", "192.0.2.9"},
	{"legacy.example", "192.0.2.9"},
	{"db.example", "192.0.2.10"}, // in the hosts file behind db.example.com, which looks like its completion
	{"192.0.2.44", "192.0.2.44"},
}

func TestNamesGetAddrInfoW(t *testing.T) {
	needsNames(t)
	for _, tt := range hostNames {
		got, err := net.DefaultResolver.LookupHost(t.Context(), tt.name)
		var missing *net.DNSError
		switch {
		case tt.address == "" && (!errors.As(err, &missing) || !missing.IsNotFound):
			t.Errorf("%s: got %q, %v; want not found", tt.name, got, err)
		case tt.address != "" && !slices.Equal(got, []string{tt.address}):
			t.Errorf("%s: got %q, %v; want %s", tt.name, got, err, tt.address)
		}
	}
}

// callWinsock calls a function of ws2_32.dll.
func callWinsock(function string, args ...uintptr) uintptr {
	result, _, _ := windows.NewLazySystemDLL("ws2_32.dll").NewProc(function).Call(args...)
	return result
}

func cString(t *testing.T, text string) uintptr {
	t.Helper()
	p, err := windows.BytePtrFromString(text)
	if err != nil {
		t.Fatal(err)
	}
	return uintptr(unsafe.Pointer(p))
}

// TestNamesGetAddrInfo calls getaddrinfo without hints, as C programs may.
func TestNamesGetAddrInfo(t *testing.T) {
	needsNames(t)
	const notFound = 11001 // WSAHOST_NOT_FOUND
	for _, tt := range hostNames {
		var list *windows.AddrinfoW // the same layout but for the name's characters
		code := callWinsock("getaddrinfo", cString(t, tt.name), 0, 0, uintptr(unsafe.Pointer(&list)))
		if tt.address == "" {
			if code != notFound || list != nil {
				t.Errorf("%s: got code %d; want %d and no list", tt.name, code, notFound)
			}
			continue
		}

		if code != 0 {
			t.Errorf("%s: got code %d", tt.name, code)
			continue
		}
		if list.Canonname != nil {
			t.Errorf("%s: a canonical name that was not asked for", tt.name)
		}

		address := (*windows.RawSockaddrInet4)(unsafe.Pointer(list.Addr)).Addr
		if got := net.IP(address[:]).String(); got != tt.address {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.address)
		}
		callWinsock("freeaddrinfo", uintptr(unsafe.Pointer(list)))
	}
}

func TestNamesGetHostByName(t *testing.T) {
	needsNames(t)
	for _, tt := range hostNames {
		host := callWinsock("gethostbyname", cString(t, tt.name))
		if found := host != 0; found != (tt.address != "") {
			t.Errorf("%s: found %v, want address %q", tt.name, found, tt.address)
		}
	}
}

// TestNamesDnsQuery asks for records; replies to these questions end in a name.
func TestNamesDnsQuery(t *testing.T) {
	needsNames(t)
	if got, err := net.LookupAddr("192.0.2.1"); err != nil || !slices.Equal(got, []string{"one.svc.test."}) {
		t.Errorf("PTR: got %q, %v", got, err)
	}
	if got, err := net.LookupCNAME("alias.svc.test"); err != nil || got != "one.svc.test." {
		t.Errorf("CNAME: got %q, %v", got, err)
	}
}

// aliasOf returns what the CNAME record of a name holds; net.LookupCNAME would not take a record of the completed name
// for an answer.
func aliasOf(name string) (string, error) {
	var records *windows.DNSRecord
	if err := windows.DnsQuery(name, windows.DNS_TYPE_CNAME, 0, nil, &records, nil); err != nil {
		return "", err
	}
	defer windows.DnsRecordListFree(records, 1)
	return windows.UTF16PtrToString((*windows.DNSPTRData)(unsafe.Pointer(&records.Data[0])).Host), nil
}

// TestNamesDnsQuerySuffix asks for names without a dot, which get the suffix, and for one with a dot, which does not.
func TestNamesDnsQuerySuffix(t *testing.T) {
	needsNames(t)
	if got, err := aliasOf("alias"); err != nil || got != "one.svc.test" {
		t.Errorf("a name without a dot: got %q, %v", got, err)
	}

	const asItIs = 0x1000 // DNS_QUERY_TREAT_AS_FQDN
	var records *windows.DNSRecord
	if err := windows.DnsQuery("alias", windows.DNS_TYPE_CNAME, asItIs, nil, &records, nil); err == nil {
		windows.DnsRecordListFree(records, 1)
		t.Error("a name that was to be taken as it is was completed")
	}

	if err := windows.DnsQuery("one.other", windows.DNS_TYPE_A, 0, nil, &records, nil); err == nil {
		windows.DnsRecordListFree(records, 1)
		t.Error("a name with a dot was completed")
	}
	if err := windows.DnsQuery("one", windows.DNS_TYPE_A, 0, nil, &records, nil); err != nil {
		t.Errorf("the address of a name without a dot: %v", err)
	} else {
		windows.DnsRecordListFree(records, 1)
	}
}

// TestLinuxNamesGetAddrInfoW resolves with two suffixes and ndots:5 in resolv.conf, which lifts Windows' rule.
func TestLinuxNamesGetAddrInfoW(t *testing.T) {
	needsNames(t)
	for _, tt := range []struct{ name, address string }{
		{"one", "192.0.2.1"},
		{"one.other", "192.0.2.2"},
		{"one.other.svc.test", "192.0.2.2"},
		{"whole.example", "192.0.2.3"},
		{"nothing.example", ""},
	} {
		got, err := net.DefaultResolver.LookupHost(t.Context(), tt.name)
		if (tt.address == "" && err == nil) || (tt.address != "" && !slices.Equal(got, []string{tt.address})) {
			t.Errorf("%s: got %q, %v; want %q", tt.name, got, err, tt.address)
		}
	}
}

// TestLinuxNamesDnsQuery completes by the second suffix.
func TestLinuxNamesDnsQuery(t *testing.T) {
	needsNames(t)
	if got, err := aliasOf("alias"); err != nil || got != "one.svc.test" {
		t.Errorf("got %q, %v", got, err)
	}
}
