package dnsclient

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

// dnsTypes returns the types of records that Resolve-DnsName asks for, with their numbers.
func dnsTypes() map[string]uint16 {
	return map[string]uint16{
		"a": 1, "ns": 2, "cname": 5, "ptr": 12, "mx": 15, "txt": 16, "aaaa": 28, "srv": 33,
	}
}

// recordObject returns a record as Resolve-DnsName shows it
// (https://learn.microsoft.com/en-us/powershell/module/dnsclient/resolve-dnsname).
func recordObject(r system.DNSRecord) *object.Object {
	kind := fmt.Sprint(r.Kind)
	for name, n := range dnsTypes() {
		if n == r.Kind {
			kind = strings.ToUpper(name)
		}
	}

	section := []string{"Question", "Answer", "Authority", "Additional"}[r.Section&3]
	o := object.New("DNS record "+kind).Set("Name", r.Name).Set("Type", kind).Set("TTL", r.TTL).Set("Section", section)
	for _, of := range []string{
		"ipaddress", "ip4address", "ip6address", "namehost", "nameexchange", "preference", "strings", "nametarget",
		"priority", "weight", "port",
	} {
		o.Props[of] = nil // what a record of its type does not have is $null
	}

	number := func(n int) object.Value {
		if n < len(r.Numbers) {
			return r.Numbers[n]
		}
		return nil
	}

	switch kind {
	case "A", "AAAA":
		o.Set("IPAddress", r.Data)
		o.Props[map[string]string{"A": "ip4address", "AAAA": "ip6address"}[kind]] = r.Data

	case "CNAME", "PTR", "NS":
		o.Set("NameHost", r.Data)
	case "MX":
		o.Set("NameExchange", r.Data).Set("Preference", number(0))
	case "TXT":
		o.Set("Strings", []object.Value{r.Data})
	case "SRV":
		o.Set("NameTarget", r.Data).Set("Priority", number(0)).Set("Weight", number(1)).Set("Port", number(2))
	}

	return o
}

// reverseName returns the name under which DNS has an address.
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

// resolve returns the records of a name. localhost is the machine's own, of which no server is asked.
func resolve(c *cmdlet.Call, name string, kind uint16) ([]system.DNSRecord, error) {
	own := map[uint16]string{dnsTypes()["a"]: "127.0.0.1", dnsTypes()["aaaa"]: "::1"}[kind]
	if !strings.EqualFold(name, "localhost") || own == "" {
		return c.State.System.Resolve(name, kind)
	}
	const ttl = 1200 // as there
	return []system.DNSRecord{{Name: name, Kind: kind, TTL: ttl, Data: own}}, nil
}

// failure is the error of a name that is not resolved.
func failure(name string, err error) error {
	e := &object.Exception{
		Class: "System.ComponentModel.Win32Exception", ID: "System.ComponentModel.Win32Exception",
		Category: "ResourceUnavailable", Target: name, Message: name + " : " + err.Error(),
	}
	switch {
	case errors.Is(err, system.ErrNoName):
		e.ID = "DNS_ERROR_RCODE_NAME_ERROR"
	case errors.Is(err, system.ErrNoRecords):
		e.ID = "DNS_INFO_NO_RECORDS"
	}
	return e
}

// resolveDNSName asks for the records of names: addresses of both families, or those of -Type.
func resolveDNSName(c *cmdlet.Call) error {
	for _, v := range c.Items("name") {
		name := object.Text(v)
		kinds := []uint16{dnsTypes()["aaaa"], dnsTypes()["a"]}
		if kind, given := dnsTypes()[strings.ToLower(c.Text("type"))]; given {
			kinds = []uint16{kind}
		} else if a, err := netip.ParseAddr(name); err == nil {
			name, kinds = reverseName(a.Unmap()), []uint16{dnsTypes()["ptr"]}
		}

		found := false
		var failed error
		for _, kind := range kinds {
			records, err := resolve(c, name, kind)
			if err != nil {
				failed = err
				continue
			}

			for _, r := range records {
				found = true
				if err := c.Output(recordObject(r)); err != nil {
					return err
				}
			}
		}
		if !found && failed != nil {
			if err := c.Fail(failure(name, failed)); err != nil {
				return err
			}
		}
	}

	return nil
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{serversCmdlet(), {
		Name:  "Clear-DnsClientCache",
		About: "does nothing: nothing is kept of what DNS says",
		Run:   func(*cmdlet.Call) error { return nil },
	}, {
		Name:      "Resolve-DnsName",
		About:     "records of DNS",
		Run:       resolveDNSName,
		Values:    []string{"name", "type"},
		Flags:     []string{"quicktimeout"},
		Positions: []string{"name", "type"},
		Takes:     "name",
		Needs:     []string{"name"},
		Allowed:   map[string][]string{"type": {"a", "aaaa", "a_aaaa", "ns", "cname", "ptr", "mx", "txt", "srv"}},
	}}
}
