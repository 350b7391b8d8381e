package credspec

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// File is the path of a container's Domain, as Linux names it; guest/c/hooks/domain.c reads it, too.
const File = "/run/mullion/domain"

// Numbers of Windows errors (https://learn.microsoft.com/windows/win32/debug/system-error-codes).
const (
	// NoLogonServers: no domain controller has answered.
	NoLogonServers = 1311
	// NoSuchDomain: the domain is not there, or none of its controllers is known.
	NoSuchDomain = 1355
	// ServerUnavailable: there is no Netlogon service to ask, as in a container that is in no domain.
	ServerUnavailable = 1722
)

// Domain is what a container's programs learn of the domain that they are in.
type Domain struct {
	DomainJoin
	// Account is the service account, without $.
	Account string
	// Controller is the name of the domain's controller, Address its address; "" and the zero value: none is known.
	Controller string
	Address    netip.Addr
	// Status is 0 if the domain has given the account a ticket, else the number of a Windows error.
	Status int
}

// Domain returns the domain of a spec's containers, of which no controller is known yet.
func (s Spec) Domain() Domain {
	return Domain{
		DomainJoin: s.DomainJoinConfig,
		Account:    s.Account().Name,
		Status:     NoLogonServers,
	}
}

// Text returns the content of a Domain's file: a line "key=value" for each of its values, ended by \n. The values have
// no control characters (see Parse).
func (d Domain) Text() []byte {
	var b strings.Builder
	for _, f := range d.fields() {
		if f.value != "" {
			fmt.Fprintf(&b, "%s=%s\n", f.key, f.value)
		}
	}
	return []byte(b.String())
}

type field struct{ key, value string }

func (d Domain) fields() []field {
	address := ""
	if d.Address.IsValid() {
		address = d.Address.String()
	}

	return []field{
		{"netbios", d.NetBiosName},
		{"dns", d.DNSName},
		{"tree", d.DNSTreeName},
		{"guid", d.GUID},
		{"sid", d.SID},
		{"machine", d.MachineAccountName},
		{"account", d.Account},
		{"dc", d.Controller},
		{"address", address},
		{"status", strconv.Itoa(d.Status)},
	}
}

// ParseDomain reads a Domain's file. Lines that it does not know are passed over: the container can write to the file.
func ParseDomain(text []byte) (Domain, error) {
	d := Domain{Status: NoLogonServers}
	into := map[string]*string{
		"netbios": &d.NetBiosName, "dns": &d.DNSName, "tree": &d.DNSTreeName, "guid": &d.GUID, "sid": &d.SID,
		"machine": &d.MachineAccountName, "account": &d.Account, "dc": &d.Controller,
	}

	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch p := into[key]; {
		case p != nil:
			*p = value
		case key == "address":
			d.Address, _ = netip.ParseAddr(value) // the zero value: none
		case key == "status":
			if n, err := strconv.Atoi(value); err == nil {
				d.Status = n
			}
		}
	}

	if d.DNSName == "" || d.NetBiosName == "" {
		return Domain{}, fmt.Errorf("read domain of the container: %q names none", short(string(text)))
	}

	return d, nil
}
