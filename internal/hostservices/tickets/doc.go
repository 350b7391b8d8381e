// Package tickets owns logging containers on to their domains: with the keys of a group managed service account, which
// the node holds, or makes of the password that it may read in the domain's directory (package directory) each time,
// and which no container sees, it gets a ticket-granting ticket of Kerberos for the account (RFC 4120, 3.1)
// and writes it in the form that MIT's Kerberos reads. With such a ticket it gets those for services. It does not renew
// by itself, and does not know containers.
//
// What a domain's controller answers is hostile: its size and the time that it takes are bounded, a panic of the
// decoder is an error, and of its words a line is kept. Keys and tickets are of AES only.
package tickets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// Keys are the keys of a node.
type Keys struct {
	Domains []spec.Domain
	// Dial connects to a domain's controller over TCP; nil is net.Dialer's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Resolver finds the controllers of domains of which none is named; nil is net.DefaultResolver.
	Resolver *net.Resolver
}

// askTimeout bounds the conversation with one controller.
const askTimeout = 5 * time.Second

// Logon gets a ticket for the account of a credential spec. The error is one of credspec's, with the reason.
func (k Keys) Logon(ctx context.Context, s credspec.Spec) (t credspec.Ticket, err error) {
	account := s.Account()
	domain, ok := k.find(account.Scope)
	if !ok {
		return credspec.Ticket{}, credspec.ErrNoKeys
	}
	if strings.EqualFold(account.Name+"$", domain.HostAccount) {
		return credspec.Ticket{}, fmt.Errorf("%w: %s is the node's own account, which is no container's",
			credspec.ErrRefused, domain.HostAccount)
	}

	realm := strings.ToUpper(domain.Name)
	key, err := readKey(domain.Keytab, account.Name+"$", realm)
	managed := errors.Is(err, errNoKey) && domain.HostAccount != ""
	if err != nil && !managed {
		return credspec.Ticket{}, fmt.Errorf("%w: %w", credspec.ErrRefused, err)
	}
	if domain.KDCs, err = k.controllers(ctx, domain); err != nil {
		return credspec.Ticket{}, fmt.Errorf("%w: %w", credspec.ErrUnreachable, err)
	}

	var errs []error
	for _, kdc := range domain.KDCs {
		err = nil
		if managed {
			key, err = k.readManaged(ctx, domain, kdc, account.Name+"$")
		}

		var reply reply
		var address netip.Addr
		if err == nil {
			reply, address, err = k.ask(ctx, completed(kdc), key)
		}
		if errors.Is(err, credspec.ErrRefused) {
			return credspec.Ticket{}, err
		}

		if err != nil {
			errs = append(errs, fmt.Errorf("ask %s: %w", kdc, err))
			continue
		}
		d := s.Domain()
		d.Controller = host(kdc)
		d.Address = address
		d.Status = 0
		life := reply.end.Sub(reply.start)
		return credspec.Ticket{
			Domain: d,
			Cache:  reply.cache,
			Config: kerberosConfig(domain, realm),
			Renew:  time.Now().Add(min(max(life/2, time.Minute), 4*time.Hour)),
			End:    reply.end,
		}, nil
	}

	return credspec.Ticket{}, fmt.Errorf("%w: %w", credspec.ErrUnreachable, errors.Join(errs...))
}

// Has reports whether the node has keys of the domain of a credential spec's account.
func (k Keys) Has(s credspec.Spec) bool {
	_, ok := k.find(s.Account().Scope)
	return ok
}

func (k Keys) find(scope string) (spec.Domain, bool) {
	for _, d := range k.Domains {
		if strings.EqualFold(d.Name, strings.TrimSuffix(scope, ".")) {
			return d, true
		}
	}
	return spec.Domain{}, false
}

// completed returns a controller with Kerberos' port.
func completed(kdc string) string {
	if _, _, err := net.SplitHostPort(kdc); err == nil {
		return kdc
	}
	return net.JoinHostPort(kdc, "88")
}

func host(kdc string) string {
	if h, _, err := net.SplitHostPort(kdc); err == nil {
		return h
	}
	return kdc
}

// kerberosConfig returns the configuration of MIT's Kerberos in the container. Names of servers are taken as they are,
// as Windows does: what a resolver says of them must not lead to another server's ticket.
func kerberosConfig(d spec.Domain, realm string) []byte {
	const types = "aes256-cts-hmac-sha1-96 aes128-cts-hmac-sha1-96"
	var b strings.Builder
	fmt.Fprintf(&b, "[libdefaults]\n default_realm = %s\n dns_lookup_kdc = false\n dns_lookup_realm = false\n", realm)
	fmt.Fprintf(&b, " dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n")
	fmt.Fprintf(&b, " permitted_enctypes = %s\n default_ccache_name = FILE:%s\n", types, credspec.CacheFile)
	fmt.Fprintf(&b, "[realms]\n %s = {\n", realm)
	for _, kdc := range d.KDCs {
		fmt.Fprintf(&b, "  kdc = %s\n", completed(kdc))
	}
	name := strings.ToLower(d.Name)
	fmt.Fprintf(&b, " }\n[domain_realm]\n .%s = %s\n %s = %s\n", name, realm, name, realm)
	return []byte(b.String())
}

// addressOf returns the address of the other end.
func addressOf(c net.Conn) netip.Addr {
	p, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	return p.Addr().Unmap()
}
