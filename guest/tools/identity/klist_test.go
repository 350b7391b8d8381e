package identity

import (
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/windows/wire/credspec"
)

func TestKlist(t *testing.T) {
	none := &fake{}
	some := &fake{tickets: []credspec.Cached{
		{
			Client: "webapp1$", ClientRealm: "CONTOSO.COM", Server: "krbtgt/CONTOSO.COM", ServerRealm: "CONTOSO.COM", Kind: 18,
			Flags: 0x40e10000, Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local),
		},
		{Client: "webapp1$", ClientRealm: "CONTOSO.COM", Server: "HTTP/web", ServerRealm: "CONTOSO.COM", Kind: 99},
	}}

	for _, c := range []struct {
		name    string
		w       *fake
		command string
		code    int
		want    []string
	}{
		{"none", none, "", 0, []string{"Current LogonId is 0:0x3e7\n\nCached Tickets: (0)\n"}},
		{"some", some, "", 0, []string{
			"Cached Tickets: (2)\n\n#0>\tClient: webapp1$ @ CONTOSO.COM\n\tServer: krbtgt/CONTOSO.COM @ CONTOSO.COM\n" +
				"\tKerbTicket Encryption Type: AES-256-CTS-HMAC-SHA1-96\n" +
				"\tTicket Flags 0x40e10000 -> forwardable renewable initial pre_authent name_canonicalize\n" +
				"\tStart Time: 1/2/2026 3:04:05 (local)\n",
			"#1>\tClient: webapp1$ @ CONTOSO.COM\n\tServer: HTTP/web @ CONTOSO.COM\n\tKerbTicket Encryption Type: Unknown (99)\n",
		}},
		{"tgt", some, "tgt", 0, []string{"Cached Tickets: (1)\n"}},
		{"no-tgt", none, "TGT", 1, []string{"klist failed with 0xc000005f"}},
		{"sessions", none, "sessions", 0, []string{"[0] Session 0 0:0x3e7 Kerberos:Service"}},
		{"purge", some, "purge", 1, []string{"klist.exe [tickets | tgt | sessions]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, c.w, "", append([]string{"klist"}, strings.Fields(c.command)...)...)
			if got.Code != c.code {
				t.Errorf("exit code %d, want %d", got.Code, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(strings.ReplaceAll(got.Out, "\r\n", "\n"), want) {
					t.Errorf("no %q in\n%s", want, got.Out)
				}
			}
		})
	}
}
