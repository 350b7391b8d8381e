package spec

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// Domain is a domain of Active Directory, or another realm of Kerberos, as whose accounts pods can act.
type Domain struct {
	// Name is the domain's DNS name.
	Name string `yaml:"name" json:"name"`
	// KDCs are its controllers, which nodes and pods must reach: names or IPv4 addresses, with or without a port. Left
	// out, they are those that DNS has, as on Windows (_kerberos._tcp.dc._msdcs and the domain's name).
	KDCs []string `yaml:"kdcs,omitempty" json:"kdcs,omitempty"`
	// Keytab is the absolute path of a file of this machine, of mode 0600, with the keys of the accounts, or of
	// HostAccount.
	Keytab string `yaml:"keytab" json:"keytab"`
	// HostAccount is an account of the domain that may read the passwords of group managed service accounts, as a node
	// of Windows' may: with its keys, the nodes read the passwords of the accounts whose keys Keytab has not.
	HostAccount string `yaml:"hostAccount,omitempty" json:"hostAccount,omitempty"`
}

// The form of a DNS name, and of a controller's without its port.
var dnsName = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9-]{0,62})(\.[A-Za-z0-9]([A-Za-z0-9-]{0,62}))*$`)

// accountName is the form of an account's name (sAMAccountName) of a computer or a user.
var accountName = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62})\$?$`)

func (v *validator) domains(all []Domain) {
	seen := map[string]bool{}
	for i, d := range all {
		at := func(field string) []any { return []any{"domains", i, field} }
		name := strings.ToLower(d.Name)
		switch {
		case len(name) > 255 || !dnsName.MatchString(name):
			v.fail(at("name"), "%q is no DNS name", d.Name)
		case seen[name]:
			v.fail(at("name"), "%q is there twice", d.Name)
		}

		seen[name] = true
		for _, kdc := range d.KDCs {
			host, port, err := net.SplitHostPort(kdc)
			if err != nil {
				host, port = kdc, "88"
			}
			if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || !dnsName.MatchString(host) {
				v.fail(at("kdcs"), "%q is no name or IPv4 address, with or without a port", kdc)
			}
		}

		if !filepath.IsAbs(d.Keytab) || filepath.Clean(d.Keytab) != d.Keytab {
			v.fail(at("keytab"), "%q is no absolute path of a file", d.Keytab)
		}
		if d.HostAccount != "" && !accountName.MatchString(d.HostAccount) {
			v.fail(at("hostAccount"), "%q is no name of an account, as NODE1$", d.HostAccount)
		}
	}
}
