//go:build kernel

package tickets

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/hostservices/tickets/kdctest"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// TestKDC: MIT's server gives the account a ticket, which MIT's tools read; it refuses one that it does not know.
func TestKDC(t *testing.T) {
	netns := newNetns(t)
	kdc := kdctest.Start(t, netns, kdctest.Host)
	keys := Keys{
		Domains: []spec.Domain{{Name: "contoso.com", KDCs: []string{kdctest.Host}, Keytab: kdc.Add(t, "webapp1$")}},
		Dial:    proc.DialIn(netns),
	}

	ticket, err := keys.Logon(t.Context(), webApp1(t))
	if err != nil {
		t.Fatal(err)
	}
	d := ticket.Domain
	if d.Status != 0 || d.Controller != kdctest.Host || d.Address.String() != kdctest.Host || d.Account != "WebApp1" {
		t.Errorf("the domain: %+v", d)
	}

	life := time.Until(ticket.End)
	if life < 9*time.Hour || life > 11*time.Hour || time.Until(ticket.Renew) > 4*time.Hour {
		t.Errorf("it ends in %v, and is renewed at %v", life, ticket.Renew)
	}

	t.Run("read by MIT", func(t *testing.T) {
		if _, err := exec.LookPath("klist"); err != nil {
			t.Skip("klist is not installed: it is in Debian's package krb5-user")
		}
		cache := filepath.Join(t.TempDir(), "cache")
		if err := os.WriteFile(cache, ticket.Cache, 0o600); err != nil {
			t.Fatal(err)
		}

		out, err := exec.CommandContext(t.Context(), "klist", "-e", "-c", cache).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Default principal: webapp1$@CONTOSO.COM") ||
			!strings.Contains(string(out), "krbtgt/CONTOSO.COM@CONTOSO.COM") || !strings.Contains(string(out), "aes256-cts") {
			t.Errorf("klist: %v\n%s", err, out)
		}
	})
	kdc.Remove(t, "webapp1$")
	_, err = keys.Logon(t.Context(), webApp1(t))
	if !errors.Is(err, credspec.ErrRefused) || !strings.Contains(err.Error(), "error 6") {
		t.Errorf("an account that is gone: %v", err)
	}
}
