package system

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// resolve asks Windows for the records of a name.
func resolve(name string, kind uint16) ([]DNSRecord, error) {
	var first *windows.DNSRecord
	const standard, freeList = 0, 1
	err := windows.DnsQuery(name, kind, standard, nil, &first, nil)
	switch {
	case errors.Is(err, windows.DNS_ERROR_RCODE_NAME_ERROR):
		return nil, ErrNoName
	case errors.Is(err, windows.DNS_INFO_NO_RECORDS):
		return nil, ErrNoRecords
	case err != nil:
		return nil, fmt.Errorf("ask DNS: %w", err)
	}

	defer windows.DnsRecordListFree(first, freeList)
	var all []DNSRecord
	for r := first; r != nil; r = r.Next {
		all = append(all, recordFrom(r))
	}

	return all, nil
}

// recordFrom copies a record of Windows.
func recordFrom(r *windows.DNSRecord) DNSRecord {
	is := DNSRecord{
		Name: windows.UTF16PtrToString(r.Name), Kind: r.Type, TTL: int64(r.Ttl), Section: r.Dw & 3,
	}

	data := unsafe.Pointer(&r.Data[0])
	switch r.Type {
	case windows.DNS_TYPE_A:
		is.Data = netip.AddrFrom4([4]byte(r.Data[:4])).String()
	case windows.DNS_TYPE_AAAA:
		is.Data = netip.AddrFrom16([16]byte(r.Data[:16])).String()
	case windows.DNS_TYPE_CNAME, windows.DNS_TYPE_PTR, windows.DNS_TYPE_NS:
		is.Data = windows.UTF16PtrToString((*windows.DNSPTRData)(data).Host)
	case windows.DNS_TYPE_MX:
		mx := (*windows.DNSMXData)(data)
		is.Data, is.Numbers = windows.UTF16PtrToString(mx.NameExchange), []int64{int64(mx.Preference)}

	case windows.DNS_TYPE_SRV:
		srv := (*windows.DNSSRVData)(data)
		is.Data = windows.UTF16PtrToString(srv.Target)
		is.Numbers = []int64{int64(srv.Priority), int64(srv.Weight), int64(srv.Port)}

	case windows.DNS_TYPE_TEXT:
		txt := (*windows.DNSTXTData)(data)
		var parts []string
		for _, s := range unsafe.Slice(&txt.StringArray[0], int(txt.StringCount)) {
			parts = append(parts, windows.UTF16PtrToString(s))
		}
		is.Data = strings.Join(parts, "")
	}

	return is
}
