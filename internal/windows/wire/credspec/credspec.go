// Package credspec owns the credential specs of group managed service accounts: reading the JSON that Windows' own
// container runtime takes, and the small file by which a container's programs learn of their domain. It does not log on
// to anything.
//
// Source: https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/manage-serviceaccounts
package credspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// MaxSize is the largest credential spec that Kubernetes takes, in bytes
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/apis/core/validation/validation.go,
// maxGMSACredentialSpecLength).
const MaxSize = 64 << 10

// Spec is a credential spec, complete and well formed.
type Spec struct {
	CmsPlugins            []string
	DomainJoinConfig      DomainJoin
	ActiveDirectoryConfig struct {
		GroupManagedServiceAccounts []Account
		HostAccountConfig           json.RawMessage
	}
}

// DomainJoin says which domain the container is a member of.
type DomainJoin struct {
	// SID is that of the domain, GUID its object's without braces.
	SID, GUID string
	// MachineAccountName is the account by which the container is known in the domain.
	MachineAccountName string
	// DNSName is the domain's name, DNSTreeName that of its forest's root, NetBiosName the short one.
	DNSName, DNSTreeName, NetBiosName string
}

// Account is a group managed service account, without the $ of its name. Scope is the DNS or the NetBIOS name of its
// domain.
type Account struct{ Name, Scope string }

// The plugin of the Host Compute Service for accounts of Active Directory.
const plugin = "ActiveDirectory"

// ErrPlugin says that a spec wants a plugin of Container Credential Guard, a COM object of the host's, which Mullion's
// hosts do not have.
var ErrPlugin = errors.New("HostAccountConfig names a plugin of Container Credential Guard, and this host has none")

// Forms of names: no control characters, nothing that would end a line or a path.
var (
	sidForm     = lazyregexp.New(`^S-1-5-21-\d{1,10}-\d{1,10}-\d{1,10}$`)
	guidForm    = lazyregexp.New(`^\{?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\}?$`)
	dnsForm     = lazyregexp.New(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?$`)
	netbiosForm = lazyregexp.New(`^[^\x00-\x20\\/:*?"<>|.=]{1,15}$`)
	// sAMAccountName: https://learn.microsoft.com/windows/win32/adschema/a-samaccountname
	accountForm = lazyregexp.New(`^[^\x00-\x1f\x7f"/\\\[\]:;|=,+*?<>@$]{1,256}\$?$`)
)

// Parse reads a credential spec. An error names the fault in it; ErrPlugin is one of them.
func Parse(text string) (Spec, error) {
	if len(text) > MaxSize {
		return Spec{}, fmt.Errorf("the credential spec has %d bytes, and may have %d", len(text), MaxSize)
	}

	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Spec{}, fmt.Errorf("the credential spec is no such JSON: %w", err)
	}
	if !slices.ContainsFunc(s.CmsPlugins, func(p string) bool { return strings.EqualFold(p, plugin) }) {
		return Spec{}, fmt.Errorf("CmsPlugins does not name %q", plugin)
	}

	if err := s.DomainJoinConfig.check(); err != nil {
		return Spec{}, err
	}

	accounts := s.ActiveDirectoryConfig.GroupManagedServiceAccounts
	if len(accounts) == 0 {
		return Spec{}, errors.New("GroupManagedServiceAccounts names no account")
	}

	for _, a := range accounts {
		if !accountForm.MatchString(a.Name) {
			return Spec{}, fmt.Errorf("the Name of a group managed service account is %q", short(a.Name))
		}
		if (!dnsForm.MatchString(a.Scope) && !netbiosForm.MatchString(a.Scope)) || len(a.Scope) > 255 {
			return Spec{}, fmt.Errorf("the Scope of a group managed service account is %q", short(a.Scope))
		}
	}

	if h := strings.TrimSpace(string(s.ActiveDirectoryConfig.HostAccountConfig)); h != "" && h != "null" {
		return Spec{}, ErrPlugin
	}

	return s, nil
}

func (d *DomainJoin) check() error {
	for _, f := range []struct {
		name, value string
		form        *lazyregexp.Regexp
		most        int
	}{
		{"Sid", d.SID, sidForm, 64},
		{"Guid", d.GUID, guidForm, 38},
		{"MachineAccountName", d.MachineAccountName, accountForm, 257},
		{"DnsName", d.DNSName, dnsForm, 255},
		{"DnsTreeName", d.DNSTreeName, dnsForm, 255},
		{"NetBiosName", d.NetBiosName, netbiosForm, 15},
	} {
		if f.value == "" {
			return fmt.Errorf("DomainJoinConfig has no %s", f.name)
		}
		if len(f.value) > f.most || !f.form.MatchString(f.value) {
			return fmt.Errorf("the %s of DomainJoinConfig is %q", f.name, short(f.value))
		}
	}

	d.GUID = guidForm.FindStringSubmatch(d.GUID)[1]
	d.DNSName, d.DNSTreeName = strings.TrimSuffix(d.DNSName, "."), strings.TrimSuffix(d.DNSTreeName, ".")
	return nil
}

// Account returns the account that a container's programs are on the network: the first of the domain that the
// container is a member of, else the first. Without the $.
func (s Spec) Account() Account {
	accounts := s.ActiveDirectoryConfig.GroupManagedServiceAccounts
	d := s.DomainJoinConfig
	for _, a := range accounts {
		scope := strings.TrimSuffix(a.Scope, ".")
		if strings.EqualFold(scope, d.DNSName) || strings.EqualFold(scope, d.NetBiosName) {
			return Account{Name: strings.TrimSuffix(a.Name, "$"), Scope: d.DNSName}
		}
	}
	return Account{Name: strings.TrimSuffix(accounts[0].Name, "$"), Scope: strings.TrimSuffix(accounts[0].Scope, ".")}
}

// short returns what an error shows of a value.
func short(value string) string {
	if r := []rune(value); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return value
}
