package tickets

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// ended fails if do takes long.
func ended(t *testing.T, do func()) {
	t.Helper()
	begin := time.Now()
	do()
	if took := time.Since(begin); took > 2*askTimeout {
		t.Errorf("it took %v", took)
	}
}

// FuzzAnswer: whatever a domain's controller answers, the node has an error of some hundred letters.
func FuzzAnswer(f *testing.F) {
	name := types.NewPrincipalName(2, "krbtgt/CONTOSO.COM")
	for _, code := range []int32{6, 25, 60} {
		e := messages.NewKRBError(name, "CONTOSO.COM", code, "no")
		message, err := e.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}

	f.Add([]byte{0x6b, 0x82, 0x01, 0x00, 0x30, 0x80})
	keytab := writeKeytab(f, etypeID.AES256_CTS_HMAC_SHA1_96, 0o600)
	f.Fuzz(func(t *testing.T, answer []byte) {
		ended(t, func() {
			_, err := keysOf(keytab, says(answer)).Logon(t.Context(), webApp1(t))
			if err == nil || len(err.Error()) > 1000 {
				t.Errorf("%v", err)
			}
		})
	})
}

// someCache returns a credential cache with a ticket, and where it says how many addresses the ticket has.
func someCache(tb testing.TB) (cache []byte, addresses int) {
	tb.Helper()
	w := &writer{b: []byte{5, 4, 0, 0}}
	tgt := types.NewPrincipalName(2, "krbtgt/CONTOSO.COM")
	w.principal("CONTOSO.COM", types.NewPrincipalName(1, "webapp1$"))
	rep := messages.KDCRepFields{CRealm: "CONTOSO.COM", CName: types.NewPrincipalName(1, "webapp1$")}
	rep.DecryptedEncPart.SRealm, rep.DecryptedEncPart.SName = "CONTOSO.COM", tgt
	rep.DecryptedEncPart.Key = types.EncryptionKey{KeyType: etypeID.AES256_CTS_HMAC_SHA1_96, KeyValue: make([]byte, 32)}
	rep.Ticket = messages.Ticket{
		TktVNO: 5,
		Realm:  "CONTOSO.COM",
		SName:  tgt,
	}

	ticket, err := rep.Ticket.Marshal()
	if err != nil {
		tb.Fatal(err)
	}

	if err := w.credential(rep); err != nil {
		tb.Fatal(err)
	}
	const behind = 4 + 4 + 4 + 4 // the number of authorization data, and the lengths of both tickets
	return w.b, len(w.b) - len(ticket) - behind
}

// TestManyAddresses: a cache that says that it has more than it has takes no memory.
func TestManyAddresses(t *testing.T) {
	cache, at := someCache(t)
	if _, err := grantingTicket(cache); err != nil {
		t.Fatal(err)
	}

	binary.BigEndian.PutUint32(cache[at:], 0x0fff_ffff)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := grantingTicket(cache); err == nil {
		t.Error("the cache was read")
	}

	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("it took %d MiB", took>>20)
	}
}

// FuzzService: whatever a container puts in the place of its ticket and of its configuration, and whatever a controller
// that it names answers, it gets an error.
func FuzzService(f *testing.F) {
	whole, _ := someCache(f)
	const config = "[libdefaults]\n default_realm = CONTOSO.COM\n[realms]\n CONTOSO.COM = {\n  kdc = 10.0.0.5\n }\n"
	f.Add(whole, []byte(config), []byte{0x7e, 2, 0x30, 0})
	f.Add(whole, []byte(config+"[domain_realm]\n .x = Y\n"), []byte{0x6d, 2, 0x30, 0})
	f.Add([]byte{5, 4, 0, 0}, []byte("include /etc/passwd\n[realms]\n A = {\n"), []byte{})
	f.Fuzz(func(t *testing.T, cache, text, answer []byte) {
		dial := func(ctx context.Context, _, address string) (net.Conn, error) {
			if len(address) > 4096 {
				return nil, errors.New("no such address")
			}
			return keysOf("", says(answer)).Dial(ctx, "tcp", "10.0.0.5:88")
		}

		ended(t, func() {
			_, err := Service(t.Context(), cache, text, "cifs/files.contoso.com", dial)
			if err == nil {
				t.Error("it logs on")
			}
		})
	})
}
