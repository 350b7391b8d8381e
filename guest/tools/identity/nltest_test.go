package identity

import (
	"net/netip"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/windows/wire/credspec"
)

func TestNltest(t *testing.T) {
	none := &fake{}
	named := &fake{domain: credspec.Domain{
		DomainJoin: credspec.DomainJoin{
			DNSName: "contoso.com", DNSTreeName: "contoso.com", NetBiosName: "CONTOSO",
			GUID: "244818ae-87ca-4fcd-92ec-e79e5252348a",
		},
		Account: "WebApp1",
		Status:  credspec.NoLogonServers,
	}}

	d := named.domain
	d.Controller = "dc1.contoso.com"
	d.Address = netip.MustParseAddr("10.0.0.5")
	d.Status = 0
	logged := &fake{domain: d}
	for _, c := range []struct {
		name    string
		w       *fake
		command string
		code    int
		want    []string
	}{
		{"parent", named, "/PARENTDOMAIN", 0, []string{"contoso.com. (1)\nThe command completed successfully\n"}},
		{"parent-dash", named, "-parentdomain", 0, []string{"contoso.com. (1)"}},
		// https://kubernetes.io/docs/tasks/configure-pod-container/configure-gmsa/#troubleshooting
		{"parent-none", none, "/parentdomain", 1, []string{"Getting parent domain failed: Status = 1722 0x6ba RPC_S_SERVER_UNAVAILABLE"}},
		{"query", named, "/query", 0, []string{"Connection Status = 1311 0x51f ERROR_NO_LOGON_SERVERS"}},
		{"query-logged", logged, "/query", 0, []string{"Flags: 0\nConnection Status = 0 0x0 NERR_Success\n"}},
		{"query-none", none, "/query", 1, []string{"I_NetLogonControl failed: Status = 1722 0x6ba RPC_S_SERVER_UNAVAILABLE"}},
		{"verify", logged, "/sc_verify:contoso.com", 0, []string{
			"Flags: b0", `Trusted DC Name \\dc1.contoso.com`, "Trusted DC Connection Status Status = 0 0x0 NERR_Success",
			"Trust Verification Status = 0 0x0 NERR_Success",
		}},
		{"verify-named", named, "/sc_verify:CONTOSO", 0, []string{"Trust Verification Status = 1311 0x51f ERROR_NO_LOGON_SERVERS"}},
		{"other", logged, "/sc_query:fabrikam.com", 1, []string{"1355 0x54b ERROR_NO_SUCH_DOMAIN"}},
		{"dc", logged, "/dsgetdc:contoso.com", 0, []string{`DC: \\dc1.contoso.com`, `Address: \\10.0.0.5`, "Dom Name: contoso.com"}},
		{"dc-none", named, "/dsgetdc:contoso.com", 1, []string{"Getting DC name failed: Status = 1355 0x54b ERROR_NO_SUCH_DOMAIN"}},
		{"unknown", logged, "/bdc_query:contoso.com", 1, []string{"Usage: nltest"}},
		{"two", logged, "/query /parentdomain", 1, []string{"Usage: nltest"}},
		{"empty", logged, "/", 1, []string{"Usage: nltest"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, c.w, "", append([]string{"nltest"}, strings.Fields(c.command)...)...)
			if got.Code != c.code {
				t.Errorf("exit code %d, want %d", got.Code, c.code)
			}
			for _, w := range c.want {
				if !strings.Contains(got.Out, w) {
					t.Errorf("lacks %q:\n%s", w, got.Out)
				}
			}
		})
	}
}
