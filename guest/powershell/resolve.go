package powershell

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// dnsRecord is a record of DNS; values are what its type has beside the name.
type dnsRecord struct {
	name    string
	kind    uint16
	ttl     int64
	section uint32 // as Windows numbers them
	data    string // an address, a name or a text
	numbers []int64
}

// dnsTypes are the types of records that Resolve-DnsName asks for, with their numbers.
func dnsTypes() map[string]uint16 {
	return map[string]uint16{
		"a": 1, "ns": 2, "cname": 5, "ptr": 12, "mx": 15, "txt": 16, "aaaa": 28, "srv": 33,
	}
}

// errNoName and errNoRecords are the answers that a name is not there, and that it has no record of a type.
var (
	errNoName    = errors.New("DNS name does not exist")
	errNoRecords = errors.New("no records found for given DNS query")
)

// object is a record as Resolve-DnsName shows it
// (https://learn.microsoft.com/en-us/powershell/module/dnsclient/resolve-dnsname).
func (r dnsRecord) object() *object {
	kind := fmt.Sprint(r.kind)
	for name, n := range dnsTypes() {
		if n == r.kind {
			kind = strings.ToUpper(name)
		}
	}
	section := []string{"Question", "Answer", "Authority", "Additional"}[r.section&3]
	o := newObject("DNS record "+kind).set("Name", r.name).set("Type", kind).set("TTL", r.ttl).set("Section", section)
	for _, of := range []string{
		"ipaddress", "ip4address", "ip6address", "namehost", "nameexchange", "preference", "strings", "nametarget",
		"priority", "weight", "port",
	} {
		o.props[of] = nil // what a record of its type does not have is $null
	}
	number := func(n int) value {
		if n < len(r.numbers) {
			return r.numbers[n]
		}
		return nil
	}
	switch kind {
	case "A", "AAAA":
		o.set("IPAddress", r.data)
		o.props[map[string]string{"A": "ip4address", "AAAA": "ip6address"}[kind]] = r.data
	case "CNAME", "PTR", "NS":
		o.set("NameHost", r.data)
	case "MX":
		o.set("NameExchange", r.data).set("Preference", number(0))
	case "TXT":
		o.set("Strings", []value{r.data})
	case "SRV":
		o.set("NameTarget", r.data).set("Priority", number(0)).set("Weight", number(1)).set("Port", number(2))
	}
	return o
}

// reverseName is the name under which DNS has an address.
func reverseName(a netip.Addr) string {
	parts := a.AsSlice()
	slices.Reverse(parts)
	var b strings.Builder
	for _, part := range parts {
		if a.Is4() {
			fmt.Fprintf(&b, "%d.", part)
		} else {
			fmt.Fprintf(&b, "%x.%x.", part&0xf, part>>4)
		}
	}
	if a.Is4() {
		return b.String() + "in-addr.arpa"
	}
	return b.String() + "ip6.arpa"
}

// resolveDNSName asks for the records of names: addresses of both families, or those of -Type.
func resolveDNSName(c *call) error {
	for _, v := range c.items("name") {
		name := text(v)
		kinds := []uint16{dnsTypes()["aaaa"], dnsTypes()["a"]}
		if kind, given := dnsTypes()[lower(c.text("type"))]; given {
			kinds = []uint16{kind}
		} else if a, err := netip.ParseAddr(name); err == nil {
			name, kinds = reverseName(a.Unmap()), []uint16{dnsTypes()["ptr"]}
		}
		found := false
		var failed error
		for _, kind := range kinds {
			records, err := c.f.in.session.system().resolve(name, kind)
			if err != nil {
				failed = err
				continue
			}
			for _, r := range records {
				found = true
				if err := c.show(r.object()); err != nil {
					return err
				}
			}
		}
		if !found && failed != nil {
			if err := c.fail(fmt.Errorf("%s : %w", name, failed)); err != nil {
				return err
			}
		}
	}
	return nil
}

func dnsCmdlets() []cmdlet {
	return []cmdlet{{
		name:      "Resolve-DnsName",
		about:     "records of DNS",
		run:       resolveDNSName,
		values:    []string{"name", "type"},
		flags:     []string{"quicktimeout"},
		positions: []string{"name", "type"},
		takes:     "name",
		needs:     []string{"name"},
		allowed:   map[string][]string{"type": {"a", "aaaa", "a_aaaa", "ns", "cname", "ptr", "mx", "txt", "srv"}},
	}}
}
