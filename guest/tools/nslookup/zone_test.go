package nslookup

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// zone is what the tests' name server knows: for a name its records, each of a type and its value as text.
var zone = map[string][]string{
	"one.svc.test":        {"A 192.0.2.1"},
	"both.svc.test":       {"A 192.0.2.1", "A 192.0.2.2", "AAAA 2001:db8::1", "AAAA ::ffff:192.0.2.9"},
	"v6.svc.test":         {"AAAA 2001:db8:0:1:1:1:1:1"},
	"alias.svc.test":      {"CNAME one.svc.test"},
	"far.svc.test":        {"CNAME alias.svc.test"},
	"one.other.svc.test":  {"A 192.0.2.3"},
	"empty.svc.test":      {},
	"whole.example":       {"A 192.0.2.4", "MX 10 mail.example", "TYPE257 issue", "HTTPS 1 .", "TXT one"},
	"empty.example":       {},
	"_http._tcp.svc.test": {"SRV 0 50 80 one.svc.test", "SRV 1 65535 8080 both.svc.test"},
	"example":             {"MX 10 mail.example", "MX 0 .", "NS ns.example", "SOA ns.example admin.example"},
	"txt.example":         {"TXT v=1 -all", "TXT one|two||bell\x07 \xc3\xa4\"\\", "TXT " + strings.Repeat("long", 60)},
	"strange.example":     {"CNAME \x1b[31mred \xff\\ .example"},
	"dotted.example":      {"SOA ns.example first~last.example", "MX 10 a~b.example", "TXT after"},
	"big.example":         slices.Repeat([]string{"A 192.0.2.5"}, 60),
	"cut.example":         {"A 192.0.2.6"},
	"noise.example":       {"A 192.0.2.7"},
	"half.example":        {"A 192.0.2.8", "A 192.0.2.9"},

	"53.0.0.127.in-addr.arpa": {"PTR dns.test"},
	"1.2.0.192.in-addr.arpa":  {"PTR one.svc.test"},
	"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa": {"PTR both.svc.test"},
}

// answer returns what the name server sends back for a message, one element a message.
func answer(message []byte, tcp bool) [][]byte {
	var m dnsmessage.Message
	if m.Unpack(message) != nil || len(m.Questions) != 1 || m.Response || !m.RecursionDesired {
		return nil
	}

	question := m.Questions[0]
	name := strings.ToLower(strings.TrimSuffix(question.Name.String(), "."))
	m.Response, m.RecursionAvailable = true, true
	m.Authoritative = strings.HasSuffix(name, ".test") || strings.HasSuffix(name, ".arpa")
	switch {
	case name == "silent.example":
		return nil
	case name == "fail.example":
		m.RCode = dnsmessage.RCodeServerFailure
	case name == "refused.example":
		m.RCode = dnsmessage.RCodeRefused
	case name == "odd.example":
		m.RCode = dnsmessage.RCodeNotImplemented
	case zone[name] == nil:
		m.RCode = dnsmessage.RCodeNameError
	case !tcp && (name == "big.example" || name == "cut.example"):
		m.Truncated = true
	case name == "cut.example":
		return nil
	default:
		m.Answers = answers(name, question.Type)
	}

	reply, err := m.AppendPack(nil)
	if err != nil {
		return [][]byte{[]byte(err.Error())}
	}
	if name == "dotted.example" {
		// Not in the header, whose ID is random.
		reply = append(reply[:12], strings.ReplaceAll(string(reply[12:]), "~", ".")...)
	}

	switch name {
	case "noise.example":
		wrongID := slices.Clone(reply)
		wrongName := slices.Clone(reply)
		noReply := slices.Clone(reply)
		wrongID[1] ^= 1
		wrongName[13] ^= 1
		noReply[2] &= 0x7f
		return [][]byte{{}, []byte("short"), wrongID, wrongName, noReply, []byte(strings.ReplaceAll(string(reply), "noise", "NoIsE"))}
	case "half.example":
		return [][]byte{reply[:len(reply)-2]}
	}

	return [][]byte{reply}
}

// answers returns the records of a name that a question of a type gets, those that an alias leads to among them.
func answers(name string, kind dnsmessage.Type) []dnsmessage.Resource {
	var found []dnsmessage.Resource
	for _, text := range zone[name] {
		r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{
			Name:  dnsmessage.MustNewName(name + "."),
			Class: dnsmessage.ClassINET,
			TTL:   30,
		}}

		r.Header.Type, r.Body = parseRecord(text)
		target, isAlias := r.Body.(*dnsmessage.CNAMEResource)
		if r.Header.Type == kind || kind == dnsmessage.TypeALL || isAlias {
			found = append(found, r)
		}
		if isAlias && kind != dnsmessage.TypeCNAME {
			found = append(found, answers(strings.TrimSuffix(target.CNAME.String(), "."), kind)...)
		}
	}

	return found
}

func parseRecord(text string) (dnsmessage.Type, dnsmessage.ResourceBody) {
	kind, value, _ := strings.Cut(text, " ")
	words := append(strings.Fields(value), "", "", "")
	name := func(text string) dnsmessage.Name {
		return dnsmessage.MustNewName(strings.TrimSuffix(text, ".") + ".")
	}

	number := func(text string) (n uint16) {
		for _, c := range text {
			n = n*10 + uint16(c-'0')
		}
		return n
	}

	switch kind {
	case "A":
		return dnsmessage.TypeA, &dnsmessage.AResource{A: netip.MustParseAddr(value).As4()}
	case "AAAA":
		return dnsmessage.TypeAAAA, &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr(value).As16()}
	case "CNAME":
		return dnsmessage.TypeCNAME, &dnsmessage.CNAMEResource{CNAME: name(value)}
	case "PTR":
		return dnsmessage.TypePTR, &dnsmessage.PTRResource{PTR: name(value)}
	case "NS":
		return dnsmessage.TypeNS, &dnsmessage.NSResource{NS: name(value)}
	case "MX":
		return dnsmessage.TypeMX, &dnsmessage.MXResource{Pref: number(words[0]), MX: name(words[1])}
	case "SRV":
		return dnsmessage.TypeSRV, &dnsmessage.SRVResource{
			Priority: number(words[0]), Weight: number(words[1]), Port: number(words[2]), Target: name(words[3]),
		}

	case "TXT":
		return dnsmessage.TypeTXT, &dnsmessage.TXTResource{TXT: strings.Split(value, "|")}
	case "SOA":
		return dnsmessage.TypeSOA, &dnsmessage.SOAResource{
			NS: name(words[0]), MBox: name(words[1]), Serial: 4294967295, Refresh: 7200, Retry: 1800, Expire: 86400,
			MinTTL: 5,
		}
	case "HTTPS":
		return 65, &dnsmessage.UnknownResource{Type: 65, Data: []byte{0, 1, 0}}
	}

	return 257, &dnsmessage.UnknownResource{Type: 257, Data: []byte("\x00\x05issueca.example")}
}
