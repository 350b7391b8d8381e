package nslookup

import (
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"mullion.dev/mullion/guest/tools/program"
)

// printHost prints the addresses and aliases in replies to questions for a host's addresses, as Windows does those of
// the last reply first; false if there are no addresses. The first reply says whether they come from one who has the
// authority.
func printHost(e program.Env, replies ...reply) bool {
	var name string
	var addresses, aliases []string
	for _, r := range slices.Backward(replies) {
		for _, one := range r.answers() {
			if one.kind == dnsmessage.TypeCNAME && !slices.Contains(aliases, one.owner) {
				aliases = append(aliases, one.owner)
			}
			if address, ok := one.address(); ok {
				name, addresses = one.owner, append(addresses, address.String())
			}
		}
	}
	if len(addresses) == 0 {
		return false
	}

	if !replies[0].header.Authoritative {
		e.Print("Non-authoritative answer:")
	}
	e.Print("Name:    %s", name)
	title := "Address:  "
	if len(addresses) > 1 {
		title = "Addresses:  "
	}

	const next = "\r\n\t  "
	e.Print("%s%s", title, strings.Join(addresses, next))
	if len(aliases) > 0 {
		e.Print("Aliases:  %s", strings.Join(aliases, next))
	}
	e.Print("")
	return true
}

// printRecords prints the answers of a reply; false if there are none.
func printRecords(e program.Env, r reply) bool {
	if !r.any {
		return false
	}
	if !r.header.Authoritative {
		e.Print("Non-authoritative answer:")
	}
	for _, one := range r.answers() {
		printRecord(e, one)
	}
	e.Print("")
	return true
}

func printRecord(e program.Env, one record) {
	switch body := one.body.(type) {
	case *dnsmessage.AResource, *dnsmessage.AAAAResource:
		family := ""
		if one.kind == dnsmessage.TypeAAAA {
			family = "AAAA IPv6 "
		}
		address, _ := one.address()
		e.Print("%s\t%sinternet address = %s", one.owner, family, address)

	case *dnsmessage.CNAMEResource:
		e.Print("%s\tcanonical name = %s", one.owner, plainName(body.CNAME))
	case *dnsmessage.PTRResource:
		e.Print("%s\tname = %s", one.owner, plainName(body.PTR))
	case *dnsmessage.NSResource:
		e.Print("%s\tnameserver = %s", one.owner, plainName(body.NS))
	case *dnsmessage.MXResource:
		e.Print("%s\tMX preference = %d, mail exchanger = %s", one.owner, body.Pref, plainName(body.MX))
	case *dnsmessage.SRVResource:
		e.Print("%s\tSRV service location:\r\n\t  priority       = %d\r\n\t  weight         = %d\r\n"+
			"\t  port           = %d\r\n\t  svr hostname   = %s",
			one.owner, body.Priority, body.Weight, body.Port, plainName(body.Target))

	case *dnsmessage.TXTResource:
		e.Print("%s\ttext =\r\n", one.owner)
		for _, text := range body.TXT {
			e.Print("\t\"%s\"", plainText(text))
		}
	case *dnsmessage.SOAResource:
		e.Print("%s\r\n\tprimary name server = %s\r\n\tresponsible mail addr = %s\r\n\tserial  = %d\r\n"+
			"\trefresh = %d\r\n\tretry   = %d\r\n\texpire  = %d\r\n\tdefault TTL = %d", one.owner, plainName(body.NS),
			plainName(body.MBox), body.Serial, body.Refresh, body.Retry, body.Expire, body.MinTTL)

	case nil:
		e.Print("%s\t??? unreadable record of type %d ???", one.owner, uint16(one.kind))
	default:
		e.Print("%s\t??? unknown type %d ???", one.owner, uint16(one.kind))
	}
}

// plainText returns a text of a record with a question mark for each byte that is no printable character.
func plainText(text string) string {
	plain := []byte(text)
	for i, c := range plain {
		if c < ' ' || c >= 0x7f {
			plain[i] = '?'
		}
	}
	return string(plain)
}
