//go:build kernel

package tickets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/hostservices/tickets/adtest"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// controller is the address of the domain's controller: Samba takes none of the loopback's own.
const controller = "10.99.0.1"

func newNetns(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("mt-tickets-%d", os.Getpid())
	for _, args := range [][]string{
		{"netns", "add", name},
		{"-n", name, "link", "set", "lo", "up"},
		{"-n", name, "addr", "add", controller + "/32", "dev", "lo"},
	} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
	}

	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
			t.Errorf("delete namespace: %v: %s", err, out)
		}
	})

	return "/run/netns/" + name
}

// TestActiveDirectory: with the keys of a computer of the domain, the node is the group managed service accounts whose
// passwords that computer may read, by what the domain's controller says at the time, and no others.
func TestActiveDirectory(t *testing.T) {
	netns := newNetns(t)
	d := adtest.Start(t, netns, controller, "webapp1$")
	d.AddManaged("webapp1$")
	node := d.Keytab(adtest.Node)
	dial := proc.DialIn(netns)
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial(ctx, "tcp", net.JoinHostPort(controller, "53"))
	}}

	named := spec.Domain{
		Name: "Contoso.com", KDCs: []string{controller}, Keytab: node, HostAccount: adtest.Node,
	}

	found := named
	found.KDCs = nil
	byName := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		addresses, err := resolver.LookupHost(ctx, host)
		if err != nil {
			return nil, err
		}

		return dial(ctx, network, net.JoinHostPort(addresses[0], port))
	}

	logon := func(d spec.Domain, s credspec.Spec) (credspec.Ticket, error) {
		k := Keys{
			Domains:  []spec.Domain{d},
			Dial:     dial,
			Resolver: resolver,
		}
		if len(d.KDCs) == 0 {
			k.Dial = byName
		}

		return k.Logon(t.Context(), s)
	}

	var ticket credspec.Ticket
	for name, domain := range map[string]spec.Domain{adtest.Controller: found, controller: named} {
		begin := time.Now()
		var err error
		if ticket, err = logon(domain, webApp1(t)); err != nil {
			t.Fatalf("by %s: %v", name, err)
		}
		t.Logf("logged on by %s in %s", name, time.Since(begin))
		if d := ticket.Domain; d.Controller != name || d.Address.String() != controller || d.Status != 0 {
			t.Errorf("by %s: the domain: %+v", name, d)
		}

		if life := time.Until(ticket.End); life < 9*time.Hour || life > 11*time.Hour {
			t.Errorf("it ends in %v", life)
		}
	}

	c, err := Service(t.Context(), ticket.Cache, ticket.Config, "cifs/"+adtest.Controller, byName)
	if err != nil {
		t.Fatal(err)
	}
	if who := c.Credentials.UserName() + "@" + c.Credentials.Domain(); who != "webapp1$@CONTOSO.COM" {
		t.Errorf("the ticket is for %s", who)
	}

	refused := func(what string, d spec.Domain, s credspec.Spec, want error, words string) {
		t.Helper()
		begin := time.Now()
		_, err := logon(d, s)
		if !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), words) {
			t.Errorf("%s: %v, want %v with %q", what, err, want, words)
		}
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("%s: it took %s", what, took)
		}
	}

	other := webApp1(t)
	accounts := other.ActiveDirectoryConfig.GroupManagedServiceAccounts
	other.ActiveDirectoryConfig.GroupManagedServiceAccounts = append(accounts[:0:0], accounts...)
	account := &other.ActiveDirectoryConfig.GroupManagedServiceAccounts[0]
	account.Name = "nobody)(x=*"
	refused("an account that is not there", named, other, credspec.ErrRefused, "no such group managed service account")
	d.Tool("service-account", "create", "--name=secret", "--dns-host-name=secret."+adtest.Name)
	account.Name = "secret"
	refused("an account of others", named, other, credspec.ErrRefused, "PrincipalsAllowedToRetrieveManagedPassword")
	d.AddComputer("STRANGER$")
	stranger := named
	stranger.HostAccount, stranger.Keytab = "STRANGER$", d.Keytab("STRANGER$")
	refused("a computer that may not", stranger, webApp1(t), credspec.ErrRefused,
		"read the password of WebApp1$ as STRANGER$: the node's account may not")
	d.SetPassword("STRANGER$")
	refused("a computer whose password has changed", stranger, webApp1(t), credspec.ErrRefused,
		"log on as the node's account STRANGER$: ")
	stranger.HostAccount = "NODE2$"
	refused("a computer without keys", stranger, webApp1(t), credspec.ErrRefused, "no AES key of NODE2$@CONTOSO.COM")

	// the account's password changes
	d.Tool("service-account", "delete", "--name=webapp1")
	refused("an account that is gone", named, webApp1(t), credspec.ErrRefused, "no such group managed service account")
	d.AddManaged("webapp1$")
	if _, err := logon(named, webApp1(t)); err != nil {
		t.Errorf("with another password: %v", err)
	}

	// a controller that does not answer, and none
	d.Signal(syscall.SIGSTOP)
	refused("a controller that does not answer", named, webApp1(t), credspec.ErrUnreachable, "")
	d.Signal(syscall.SIGCONT)
	d.Stop()
	refused("no controller", named, webApp1(t), credspec.ErrUnreachable, "connection refused")
	refused("no name server", found, webApp1(t), credspec.ErrUnreachable, "find the controllers of Contoso.com")
}
