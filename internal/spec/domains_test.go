package spec_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

func TestDomains(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"[{name: contoso.com, kdcs: [dc1.contoso.com, '10.0.0.5:88'], keytab: /etc/mullion/contoso.keytab}]", ""},
		{"[{name: 'a b', kdcs: [dc1], keytab: /k}]", `domains[0].name: "a b" is no DNS name`},
		{"[{name: a.b, kdcs: [dc1], keytab: /k}, {name: A.b, kdcs: [dc1], keytab: /k}]", "is there twice"},
		{"[{name: a.b, kdcs: [dc1, dc2], keytab: /k, hostAccount: NODE1$}]", ""},
		{"[{name: a.b, kdcs: [dc1], keytab: /k, hostAccount: 'CONTOSO\\\\NODE1$'}]", `domains[0].hostAccount: "CONTOSO\\`},
		{"[{name: a.b, kdcs: ['dc1:0'], keytab: /k}]", `"dc1:0" is no name or IPv4 address`},
		{"[{name: a.b, kdcs: [\"dc1\\n}\"], keytab: /k}]", "is no name or IPv4 address"},
		{"[{name: a.b, kdcs: [dc1], keytab: k}]", `domains[0].keytab: "k" is no absolute path`},
		{"[{name: a.b, kdcs: [dc1], keytab: /k, key: secret}]", "unknown field"},
	} {
		c, err := spec.Load(strings.NewReader(head + "domains: " + tt.in + "\nnodes: [{}]\n"))
		switch {
		case tt.want == "" && (err != nil || len(c.Domains) != 1 || len(c.Domains[0].KDCs) != 2):
			t.Errorf("%s: %+v, %v", tt.in, c.Domains, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", tt.in, err, tt.want)
		}
	}
}
