package credspec_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mullion.dev/mullion/internal/windows/wire/credspec"
)

const sample = `{
  "ActiveDirectoryConfig": {"GroupManagedServiceAccounts": [
    {"Name": "Other", "Scope": "fabrikam.com"},
    {"Name": "WebApp1", "Scope": "CONTOSO"},
    {"Name": "WebApp1", "Scope": "contoso.com"}
  ]},
  "CmsPlugins": ["ActiveDirectory"],
  "DomainJoinConfig": {
    "DnsName": "contoso.com", "DnsTreeName": "contoso.com", "Guid": "{244818ae-87ca-4fcd-92ec-e79e5252348a}",
    "MachineAccountName": "WebApp1", "NetBiosName": "CONTOSO", "Sid": "S-1-5-21-2126449477-2524075714-3094792973"
  }
}`

func TestParse(t *testing.T) {
	s, err := credspec.Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Account(), (credspec.Account{Name: "WebApp1", Scope: "contoso.com"}); got != want {
		t.Errorf("account: got %v, want %v", got, want)
	}

	want := credspec.Domain{
		DomainJoin: credspec.DomainJoin{
			SID: "S-1-5-21-2126449477-2524075714-3094792973", GUID: "244818ae-87ca-4fcd-92ec-e79e5252348a",
			MachineAccountName: "WebApp1", DNSName: "contoso.com", DNSTreeName: "contoso.com", NetBiosName: "CONTOSO",
		},
		Account: "WebApp1",
		Status:  credspec.NoLogonServers,
	}

	got := s.Domain()
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}

	got.Controller = "dc1.contoso.com"
	got.Address = netip.MustParseAddr("10.0.0.5")
	got.Status = 0
	again, err := credspec.ParseDomain(got.Text())
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(got, again, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}

// TestRefused has a spec that is wrong in one place each.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no-json", sample, "{", "no such JSON"},
		{"other-type", `["ActiveDirectory"]`, `"ActiveDirectory"`, "no such JSON"},
		{"no-plugin", `["ActiveDirectory"]`, `[]`, "CmsPlugins"},
		{"no-sid", `"Sid": "S-1-5-21-2126449477-2524075714-3094792973"`, `"Sid": ""`, "no Sid"},
		{"bad-sid", "S-1-5-21-2126449477", "S-1-5-32", "Sid of DomainJoinConfig"},
		{"bad-guid", "244818ae", "24481", "Guid of DomainJoinConfig"},
		{"bad-dns", `"DnsName": "contoso.com"`, `"DnsName": "contoso.com\nstatus=0"`, "DnsName of DomainJoinConfig"},
		{"bad-tree", `"DnsTreeName": "contoso.com"`, `"DnsTreeName": "a b"`, "DnsTreeName of DomainJoinConfig"},
		{"long-netbios", `"NetBiosName": "CONTOSO"`, `"NetBiosName": "CONTOSO-AND-OTHERS"`, "NetBiosName of"},
		{"bad-machine", `"MachineAccountName": "WebApp1"`, `"MachineAccountName": "a/b"`, "MachineAccountName of"},
		{"bad-account", `"Name": "Other"`, `"Name": "at@home"`, "Name of a group managed"},
		{"no-scope", `"Scope": "fabrikam.com"`, `"Scope": ""`, "Scope of a group managed"},
		{"no-account", `"GroupManagedServiceAccounts": [`, `"GroupManagedServiceAccounts": [], "x": [`, "names no account"},
		{
			"large", `"CmsPlugins"`, `"x": "` + strings.Repeat("x", credspec.MaxSize) + `", "CmsPlugins"`,
			"bytes, and may have",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(sample, c.old) {
				t.Fatalf("the sample has no %q", c.old)
			}
			_, err := credspec.Parse(strings.Replace(sample, c.old, c.new, 1))
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 300 {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}

	_, err := credspec.Parse(strings.Replace(sample, `{"GroupM`, `{"HostAccountConfig": {"PortableCcgVersion": "1",
		"PluginGUID": "{859E1386-BDB4-49E8-85C7-3070B13920E1}", "PluginInput": "x"}, "GroupM`, 1))
	if !errors.Is(err, credspec.ErrPlugin) {
		t.Errorf("with a plugin: %v", err)
	}
}

func TestParseDomainRefusesOthers(t *testing.T) {
	for _, text := range []string{"", "\x00\xff", "dns=\n", "netbios=A\n", strings.Repeat("=", 9000)} {
		if d, err := credspec.ParseDomain([]byte(text)); err == nil {
			t.Errorf("%.10q: %+v", text, d)
		}
	}
}
