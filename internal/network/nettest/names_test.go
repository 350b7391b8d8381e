package nettest

import (
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestAnswerName(t *testing.T) {
	tests := []struct {
		name    string
		query   string
		kind    dnsmessage.Type
		code    dnsmessage.RCode
		address netip.Addr
	}{
		{"known", "far.outside.test.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, FarAddress()},
		{"in_capitals", "FAR.outside.TEST.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, FarAddress()},
		{"no_such_record", "far.outside.test.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, netip.Addr{}},
		{"known_of_ipv6", "far6.outside.test.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, FarAddress6()},
		{"no_such_record_of_ipv6", "far6.outside.test.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, netip.Addr{}},
		{"no_such_name", "near.outside.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, netip.Addr{}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			query := dnsmessage.Message{
				Header: dnsmessage.Header{ID: 7, RecursionDesired: true},
				Questions: []dnsmessage.Question{{
					Name:  dnsmessage.MustNewName(tt.query),
					Type:  tt.kind,
					Class: dnsmessage.ClassINET,
				}},
			}

			packed, err := query.Pack()
			if err != nil {
				t.Fatal(err)
			}
			answer, err := answerName(packed)
			if err != nil {
				t.Fatal(err)
			}

			var got dnsmessage.Message
			if err := got.Unpack(answer); err != nil {
				t.Fatal(err)
			}
			if got.ID != 7 || !got.Response || got.RCode != tt.code || len(got.Questions) != 1 {
				t.Errorf("answer %s", got.GoString())
			}

			var address netip.Addr
			for _, r := range got.Answers {
				switch a := r.Body.(type) {
				case *dnsmessage.AResource:
					address = netip.AddrFrom4(a.A)
				case *dnsmessage.AAAAResource:
					address = netip.AddrFrom16(a.AAAA)
				}
			}

			if address != tt.address {
				t.Errorf("address %s, want %s", address, tt.address)
			}
		})
	}

	if _, err := answerName([]byte("no query")); err == nil {
		t.Error("answered what is no query")
	}
}
