package directory

import (
	"bytes"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"

	"mullion.dev/mullion/internal/base/testrun"
)

// peer is the other end of a session.
type peer struct {
	session types.EncryptionKey
	subkey  types.EncryptionKey // none: the session's key is used
	number  uint64
	rotate  int
	filler  int
}

func key(b byte) types.EncryptionKey {
	return types.EncryptionKey{KeyType: etypeID.AES256_CTS_HMAC_SHA1_96, KeyValue: bytes.Repeat([]byte{b}, 32)}
}

// newSession returns a session whose first message has been made.
func newSession(t *testing.T) (*session, *peer) {
	t.Helper()
	s := &session{ticket: Ticket{
		Realm: "CONTOSO.COM", Name: types.NewPrincipalName(1, "NODE1$"), Key: key(1),
		Ticket: messages.Ticket{
			TktVNO: 5, Realm: "CONTOSO.COM", SName: types.NewPrincipalName(2, "ldap/dc1.contoso.com"),
			EncPart: types.EncryptedData{EType: 18, Cipher: []byte("of the domain")},
		},
	}}

	out, more, err := s.InitSecContext("", nil)
	if err != nil || !more {
		t.Fatalf("first message: %t, %v", more, err)
	}
	var token spnego.KRB5Token
	if err := token.Unmarshal(out); err != nil || !token.IsAPReq() {
		t.Fatalf("first message: %v", err)
	}

	return s, &peer{session: key(1), number: 4711}
}

// accept returns the answer to the first message.
func (p *peer) accept(t *testing.T, auth types.Authenticator) []byte {
	t.Helper()
	part, err := asn1.Marshal(messages.EncAPRepPart{
		CTime: auth.CTime, Cusec: auth.Cusec, Subkey: p.subkey, SequenceNumber: int64(p.number),
	})
	if err != nil {
		t.Fatal(err)
	}

	secret, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(part, 27), p.session, keyusage.AP_REP_ENCPART, 0)
	if err != nil {
		t.Fatal(err)
	}

	reply, err := asn1.Marshal(messages.APRep{
		PVNO:    5,
		MsgType: 15,
		EncPart: secret,
	})
	if err != nil {
		t.Fatal(err)
	}

	oid, err := asn1.Marshal(asn1.ObjectIdentifier(gssapi.OIDKRB5.OID()))
	if err != nil {
		t.Fatal(err)
	}
	return asn1tools.AddASNAppTag(slices.Concat(oid, []byte{2, 0}, asn1tools.AddASNAppTag(reply, 15)), 0)
}

func (p *peer) key() types.EncryptionKey {
	if len(p.subkey.KeyValue) > 0 {
		return p.subkey
	}
	return p.session
}

// wrap makes a message as RFC 4121 has it.
func (p *peer) wrap(t *testing.T, plain []byte, seal bool) []byte {
	t.Helper()
	cipher, err := crypto.GetEtype(p.key().KeyType)
	if err != nil {
		t.Fatal(err)
	}
	head := []byte{5, 4, 1, 0xff, 0, 0, 0, 0}
	if seal {
		head[2] |= 2
	}

	if len(p.subkey.KeyValue) > 0 {
		head[2] |= 4
	}

	head = binary.BigEndian.AppendUint64(head, p.number)
	p.number++
	var body []byte
	if seal {
		binary.BigEndian.PutUint16(head[4:], uint16(p.filler))
		secret := slices.Concat(plain, make([]byte, p.filler), head)
		_, body, err = cipher.EncryptMessage(p.key().KeyValue, secret, keyusage.GSSAPI_ACCEPTOR_SEAL)
	} else {
		var sum []byte
		sum, err = cipher.GetChecksumHash(p.key().KeyValue, slices.Concat(plain, head), keyusage.GSSAPI_ACCEPTOR_SEAL)
		body = slices.Concat(plain, sum)
		binary.BigEndian.PutUint16(head[4:], uint16(len(sum)))
	}
	if err != nil {
		t.Fatal(err)
	}

	binary.BigEndian.PutUint16(head[6:], uint16(p.rotate))
	at := len(body) - p.rotate%len(body)
	return slices.Concat(head, body[at:], body[:at])
}

// open reads a message of the session's.
func (p *peer) open(t *testing.T, token []byte) []byte {
	t.Helper()
	plain, err := crypto.DecryptMessage(token[16:], p.key(), keyusage.GSSAPI_INITIATOR_SEAL)
	if err != nil || !bytes.Equal(plain[len(plain)-16:], token[:16]) {
		t.Fatalf("a message of the session's: %v", err)
	}
	return plain[:len(plain)-16]
}

// TestSession: the session takes what its peer makes, however that is laid out, and in order only.
func TestSession(t *testing.T) {
	for _, c := range []struct {
		name           string
		subkey         types.EncryptionKey
		rotate, filler int
	}{
		{name: "session's key"},
		{name: "acceptor's key", subkey: key(2)},
		{name: "as Windows does", subkey: key(2), rotate: 28, filler: 16},
		{name: "rotated further", rotate: 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, p := newSession(t)
			p.subkey = c.subkey
			p.rotate = c.rotate
			p.filler = c.filler
			if _, more, err := s.InitSecContext("", p.accept(t, s.auth)); err != nil || more {
				t.Fatalf("the answer: %t, %v", more, err)
			}
			chosen, err := s.NegotiateSaslAuth(p.wrap(t, []byte{7, 0, 0xff, 0xff}, false), "")
			if err != nil || !bytes.Equal(chosen[16:20], []byte{4, 1, 0, 0}) {
				t.Fatalf("the layer: %x, %v", chosen, err)
			}

			for _, text := range []string{"one", "", strings.Repeat("long ", 5000)} {
				if text != "" {
					sealed, err := s.wrap([]byte(text), true)
					if err != nil || string(p.open(t, sealed)) != text {
						t.Fatalf("sealed: %v", err)
					}
				}

				got, err := s.unwrap(p.wrap(t, []byte(text), true), true)
				if err != nil || string(got) != text {
					t.Fatalf("unsealed: %.20q, %v", got, err)
				}
			}
		})
	}
}

// TestSessionHostile: nothing is taken of who does not know the ticket's key, and nothing twice, changed or unsealed.
func TestSessionHostile(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	s, p := newSession(t)
	stranger := &peer{session: key(3)}
	if _, _, err := s.InitSecContext("", stranger.accept(t, s.auth)); err == nil {
		t.Error("an answer by another key was taken")
	}

	other := s.auth
	other.Cusec++
	if _, _, err := s.InitSecContext("", p.accept(t, other)); err == nil {
		t.Error("an answer to another question was taken")
	}
	p.subkey = types.EncryptionKey{KeyType: etypeID.RC4_HMAC, KeyValue: make([]byte, 16)}
	if _, _, err := s.InitSecContext("", p.accept(t, s.auth)); err == nil {
		t.Error("a key of RC4 was taken")
	}

	p.subkey = key(2)
	if _, _, err := s.InitSecContext("", p.accept(t, s.auth)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.NegotiateSaslAuth(p.wrap(t, []byte{3, 0, 0xff, 0xff}, false), ""); err == nil {
		t.Error("a connection that is not sealed was taken")
	}

	good := p.wrap(t, []byte("text"), true)
	p.number--
	signed := p.wrap(t, []byte("text"), false)
	for name, token := range map[string][]byte{
		"nothing": nil, "a header": good[:16], "cut off": good[:len(good)-1], "only signed": signed,
		"changed": append(slices.Clone(good[:len(good)-1]), good[len(good)-1]^1),
	} {
		s := *s
		if got, err := s.unwrap(token, true); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}

	if _, err := s.unwrap(good, true); err != nil {
		t.Error(err)
	}
	if _, err := s.unwrap(good, true); err == nil {
		t.Error("a message was taken twice")
	}
}

// TestSealedConn: messages come in pieces and several at once, and what is too long is not read.
func TestSealedConn(t *testing.T) {
	s, p := newSession(t)
	if _, _, err := s.InitSecContext("", p.accept(t, s.auth)); err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &sealedConn{Conn: ours, left: mostRead}
	defer c.Close()

	var stream []byte
	for _, text := range []string{"one ", "two ", "three"} {
		token := p.wrap(t, []byte(text), true)
		stream = append(binary.BigEndian.AppendUint32(stream, uint32(len(token))), token...)
	}

	stream = append(stream, 0xff, 0xff, 0xff, 0xff)
	go func() {
		_, _ = theirs.Write([]byte("plain"))
		for part := range slices.Chunk(stream, 50) {
			_, _ = theirs.Write(part)
		}
	}()

	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "plain" {
		t.Fatalf("%q, %v", b, err)
	}
	c.session.Store(s)
	b = make([]byte, len("one two three"))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "one two three" {
		t.Fatalf("%q, %v", b, err)
	}

	if n, err := c.Read(b); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a message of four gigabytes: %d, %v", n, err)
	}
}

func blob(password []uint16) []byte {
	b := []byte{1, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0}
	for _, u := range append(password, 0, 0x1234, 0x5678) { // what follows is not the password
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	return b
}

func TestPassword(t *testing.T) {
	got, err := current(blob([]uint16{'a', 0xd800, 'b', 0xd83d, 0xde00, 0xdc00}))
	if want := "a\ufffdb\U0001f600\ufffd"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}

	good := blob([]uint16{'a'})
	for name, bad := range map[string][]byte{
		"nothing": nil, "cut off": good[:12], "of another version": append([]byte{2}, good[1:]...),
		"longer than it is": append(append(slices.Clone(good[:4]), 0xff, 0xff, 0xff, 0xff), good[8:]...),
		"empty":             blob(nil), "without an end": good[:18],
		"elsewhere": append(append(slices.Clone(good[:8]), 0xff, 0xff), good[10:]...),
	} {
		if got, err := current(bad); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func FuzzPassword(f *testing.F) {
	f.Add(blob([]uint16{'a', 'b'}))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = current(b) })
}
