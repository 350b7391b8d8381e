package tickets

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

const specText = `{"CmsPlugins": ["ActiveDirectory"],
	"DomainJoinConfig": {"Sid": "S-1-5-21-1-2-3", "Guid": "244818ae-87ca-4fcd-92ec-e79e5252348a", "DnsName": "contoso.com",
		"MachineAccountName": "WebApp1", "DnsTreeName": "contoso.com", "NetBiosName": "CONTOSO"},
	"ActiveDirectoryConfig": {"GroupManagedServiceAccounts": [{"Name": "WebApp1", "Scope": "contoso.com"}]}}`

func webApp1(t *testing.T) credspec.Spec {
	t.Helper()
	s, err := credspec.Parse(specText)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// writeKeytab writes a keytab with a key of an account.
func writeKeytab(tb testing.TB, kind int32, mode os.FileMode) string {
	tb.Helper()
	kt := keytab.New()
	if err := kt.AddEntry("webapp1$", "CONTOSO.COM", "secret", time.Now(), 1, kind); err != nil {
		tb.Fatal(err)
	}
	data, err := kt.Marshal()
	if err != nil {
		tb.Fatal(err)
	}

	path := filepath.Join(tb.TempDir(), "keytab")
	if err := os.WriteFile(path, data, mode); err != nil {
		tb.Fatal(err)
	}
	return path
}

// keysOf returns the keys of contoso.com with a controller that answers with bytes: a length and what follows.
func keysOf(keytab string, answer func(net.Conn)) Keys {
	return Keys{
		Domains: []spec.Domain{{Name: "Contoso.com", KDCs: []string{"10.0.0.5"}, Keytab: keytab}},
		Dial: func(_ context.Context, network, address string) (net.Conn, error) {
			if network != "tcp" || address != "10.0.0.5:88" {
				return nil, fmt.Errorf("asked for %s %s", network, address)
			}

			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				head := make([]byte, 4)
				if _, err := io.ReadFull(theirs, head); err != nil {
					return
				}
				if _, err := io.CopyN(io.Discard, theirs, int64(binary.BigEndian.Uint32(head))); err != nil {
					return
				}
				answer(theirs)
			}()

			return ours, nil
		},
	}
}

func says(message []byte) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	}
}

func TestWithoutKeys(t *testing.T) {
	nobody := func(net.Conn) {}
	good := writeKeytab(t, etypeID.AES256_CTS_HMAC_SHA1_96, 0o600)
	other := webApp1(t)
	other.DomainJoinConfig.DNSName = "fabrikam.com"
	fabrikam := credspec.Account{Name: "WebApp1", Scope: "fabrikam.com"}
	other.ActiveDirectoryConfig.GroupManagedServiceAccounts = []credspec.Account{fabrikam}
	stranger := webApp1(t)
	stranger.ActiveDirectoryConfig.GroupManagedServiceAccounts[0].Name = "WebApp2"
	torn := filepath.Join(t.TempDir(), "torn")
	if err := os.WriteFile(torn, []byte{5, 2, 0, 0, 0, 60, 0, 1}, 0o600); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name, keytab string
		spec         credspec.Spec
		want         error
		words        string
	}{
		{"other-domain", good, other, credspec.ErrNoKeys, ""},
		{"no-file", "/nonexistent", webApp1(t), credspec.ErrRefused, "no such file"},
		{"no-account", good, stranger, credspec.ErrRefused, "no AES key of WebApp2$@CONTOSO.COM"},
		{
			"readable", writeKeytab(t, etypeID.AES256_CTS_HMAC_SHA1_96, 0o640), webApp1(t), credspec.ErrRefused,
			"must be a file of mode 0600",
		},
		{"rc4", writeKeytab(t, etypeID.RC4_HMAC, 0o600), webApp1(t), credspec.ErrRefused, "no AES key"},
		{"folder", t.TempDir(), webApp1(t), credspec.ErrRefused, "must be a file"},
		{"torn", torn, webApp1(t), credspec.ErrRefused, "keytab"},
		{"no-answer", good, webApp1(t), credspec.ErrUnreachable, "read answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := keysOf(c.keytab, nobody).Logon(t.Context(), c.spec)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.words)
			}
		})
	}
}

// TestHostAccount: a container is never the node's own account, which may read the passwords of others, and without
// that account's keys no password is read.
func TestHostAccount(t *testing.T) {
	keys := keysOf(writeKeytab(t, etypeID.AES256_CTS_HMAC_SHA1_96, 0o600), func(net.Conn) {})
	keys.Domains[0].HostAccount = "WEBAPP1$"
	_, err := keys.Logon(t.Context(), webApp1(t))
	if !errors.Is(err, credspec.ErrRefused) || !strings.Contains(err.Error(), "is the node's own account") {
		t.Errorf("the node's own account: %v", err)
	}
	other := webApp1(t)
	other.ActiveDirectoryConfig.GroupManagedServiceAccounts[0].Name = "WebApp2"
	keys.Domains[0].HostAccount = "NODE1$"
	_, err = keys.Logon(t.Context(), other)
	if !errors.Is(err, credspec.ErrRefused) || !strings.Contains(err.Error(), "no AES key of NODE1$@CONTOSO.COM") {
		t.Errorf("without the node's keys: %v", err)
	}
}

// TestRefusals: a controller's refusal is the account's, and of its words a line is kept.
func TestRefusals(t *testing.T) {
	name := types.NewPrincipalName(2, "krbtgt/CONTOSO.COM")
	keytab := writeKeytab(t, etypeID.AES128_CTS_HMAC_SHA1_96, 0o600)
	for code, want := range map[int32]error{
		6: credspec.ErrRefused, 24: credspec.ErrRefused, 60: credspec.ErrUnreachable,
	} {
		e := messages.NewKRBError(name, "CONTOSO.COM", code, "no\x1b[31m\n"+strings.Repeat("x", 10_000))
		message, err := e.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		_, err = keysOf(keytab, says(message)).Logon(t.Context(), webApp1(t))
		if !errors.Is(err, want) || len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("error %d: %v", code, err)
		}
	}
}

// TestWrongAnswers: whatever a controller answers, the node goes on.
func TestWrongAnswers(t *testing.T) {
	keytab := writeKeytab(t, etypeID.AES256_CTS_HMAC_SHA1_96, 0o600)
	name := types.NewPrincipalName(2, "krbtgt/CONTOSO.COM")
	try := func(what string, answer func(net.Conn)) {
		t.Helper()
		_, err := keysOf(keytab, answer).Logon(t.Context(), webApp1(t))
		if err == nil || len(err.Error()) > 600 {
			t.Errorf("%s: %v", what, err)
		}
	}

	e := messages.NewKRBError(name, "CONTOSO.COM", 6, "no such account")
	whole, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}

	for n := range whole { // cut off, and with one byte changed
		try(fmt.Sprintf("%d bytes", n), says(whole[:n]))
		for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			changed := append([]byte{}, whole...)
			changed[n] = b
			try(fmt.Sprintf("byte %d is %#x", n, b), says(changed))
		}
	}

	for _, first := range []byte{0x6b, 0x7e, 0x30, 0, 0xff} {
		for length := range 24 {
			message := make([]byte, length)
			for i := range message {
				message[i] = byte(i * 37)
			}

			if length > 0 {
				message[0] = first
			}
			if length > 1 {
				message[1] = byte(length - 2)
			}
			try(fmt.Sprintf("%#x, %d bytes", first, length), says(message))
		}
	}

	try("too large", func(c net.Conn) { _, _ = c.Write([]byte{0xff, 0xff, 0xff, 0xff}) })
	try("half", func(c net.Conn) { _, _ = c.Write([]byte{0, 0, 0, 9, 0x6b}) })
}
