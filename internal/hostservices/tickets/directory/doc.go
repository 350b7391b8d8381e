// Package directory owns reading the password of a group managed service account from its domain's directory, as a
// member of the domain that may: by LDAP, logged on by Kerberos (SASL's GSSAPI, RFC 4752), with all that follows sealed
// (RFC 4121). It gets no tickets, and makes no keys of what it reads.
//
// The answers of whoever is at the other end are hostile until he has shown that he knows the key of the ticket's
// service: their size is bounded, and the caller bounds their time.
package directory

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-ldap/ldap/v3"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// Ticket is a ticket for a service, with its key, and whose it is.
type Ticket struct {
	Realm  string
	Name   types.PrincipalName
	Ticket messages.Ticket
	Key    types.EncryptionKey
}

// Why there is no password, though the controller has answered.
var (
	// ErrNoAccount says that the domain has no such group managed service account.
	ErrNoAccount = errors.New("the domain has no such group managed service account")
	// ErrNotAllowed says that the member of the domain is none of those that may read the password.
	ErrNotAllowed = errors.New("the node's account may not read the password (PrincipalsAllowedToRetrieveManagedPassword)")
)

// passwordAttribute is a blob that the controller makes when it is asked for by name, on a connection that is sealed
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-adts/9cd2fc5e-7305-4fb8-b233-2a60bc3eec68).
const passwordAttribute = "msDS-ManagedPassword"

// nameAttribute is an account's name.
const nameAttribute = "sAMAccountName"

// hostForm is what a controller may call itself.
var hostForm = lazyregexp.New(`^[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+$`)

// Account is an account of a domain: its name as the domain spells it ("webapp1$"), and its password, of which not all
// is characters.
type Account struct{ Name, Password string }

// Read reads the password of an account of a domain, both by their names in any spelling ("WebApp1$", "contoso.com"),
// over conn, a connection to LDAP's port of a controller, which it closes. logon gets a ticket for the controller's
// service, which is "ldap/" and its name.
func Read(
	ctx context.Context, conn net.Conn, domain, account string, logon func(service string) (Ticket, error),
) (a Account, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	sealed := &sealedConn{Conn: conn, left: mostRead}
	client := ldap.NewConn(sealed, false)
	client.Start()
	defer client.Close()

	service, err := serviceOf(client, domain)
	if err != nil {
		return Account{}, err
	}
	ticket, err := logon(service)
	if err != nil {
		return Account{}, err
	}

	session := &session{ticket: ticket}
	if err := client.GSSAPIBind(session, service, ""); err != nil {
		return Account{}, fmt.Errorf("log on at %s: %w", service, err)
	}

	sealed.session.Store(session)
	found, err := client.Search(&ldap.SearchRequest{
		BaseDN: "DC=" + strings.Join(strings.Split(domain, "."), ",DC="),
		Scope:  ldap.ScopeWholeSubtree,
		Filter: fmt.Sprintf("(&(objectClass=msDS-GroupManagedServiceAccount)(%s=%s))", nameAttribute,
			ldap.EscapeFilter(account)),
		Attributes: []string{nameAttribute, passwordAttribute},
	})
	if err != nil {
		return Account{}, fmt.Errorf("ask %s for the password: %w", service, err)
	}

	if len(found.Entries) != 1 || !strings.EqualFold(found.Entries[0].GetAttributeValue(nameAttribute), account) {
		return Account{}, ErrNoAccount
	}
	blob := found.Entries[0].GetRawAttributeValue(passwordAttribute)
	if len(blob) == 0 {
		return Account{}, ErrNotAllowed
	}
	a.Name = found.Entries[0].GetAttributeValue(nameAttribute)
	a.Password, err = current(blob)

	return a, err
}

// serviceOf asks a controller who it is, before anybody has logged on. If it lies, the ticket is one for another
// service, whose key it does not know.
func serviceOf(client *ldap.Conn, domain string) (string, error) {
	const attribute = "dnsHostName"
	found, err := client.Search(&ldap.SearchRequest{
		Scope: ldap.ScopeBaseObject, Filter: "(objectClass=*)", Attributes: []string{attribute},
	})
	if err != nil {
		return "", fmt.Errorf("ask the controller for its name: %w", err)
	}

	name := ""
	if len(found.Entries) == 1 {
		name = found.Entries[0].GetAttributeValue(attribute)
	}
	below := len(name) > len(domain) && strings.EqualFold(name[len(name)-len(domain)-1:], "."+domain)
	if !hostForm.MatchString(name) || len(name) > 255 || !below {
		return "", errors.New("the controller's name is none of the domain")
	}

	return "ldap/" + name, nil
}
