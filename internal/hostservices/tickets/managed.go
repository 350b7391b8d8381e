package tickets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/types"

	"mullion.dev/mullion/internal/hostservices/tickets/directory"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// ldapPort is where controllers have the directory.
const ldapPort = "389"

// readManaged makes the key of a group managed service account, of the password that a controller tells the domain's
// HostAccount. Nothing of it is kept: the domain changes the password when it wants.
func (k Keys) readManaged(ctx context.Context, d spec.Domain, kdc, name string) (a account, err error) {
	defer func() { err = recovered(recover(), err) }() // the decoders, of what the controller has sent
	realm := strings.ToUpper(d.Name)
	key, err := readKey(d.Keytab, d.HostAccount, realm)
	if err != nil {
		return account{}, fmt.Errorf("%w: %w", credspec.ErrRefused, err)
	}

	reply, _, err := k.ask(ctx, completed(kdc), key)
	if err != nil {
		return account{}, fmt.Errorf("log on as the node's account %s: %w", d.HostAccount, err)
	}
	granting, err := grantingTicket(reply.cache)
	if err != nil {
		return account{}, err
	}

	ctx, cancel := context.WithTimeout(ctx, 2*askTimeout)
	defer cancel()
	conn, err := k.dial(ctx, net.JoinHostPort(host(kdc), ldapPort))
	if err != nil {
		return account{}, err
	}

	cfg := config.New()
	cfg.LibDefaults.DefaultTGSEnctypeIDs, cfg.LibDefaults.DefaultTGSEnctypes = encTypes(), nil
	found, err := directory.Read(ctx, conn, d.Name, name, func(service string) (directory.Ticket, error) {
		rep, err := granting.ask(ctx, k, kdc, cfg, service)
		if err != nil {
			return directory.Ticket{}, fmt.Errorf("ask for a ticket for %s: %w", words(service), err)
		}
		return directory.Ticket{
			Realm: granting.realm, Name: granting.name, Ticket: rep.Ticket, Key: rep.DecryptedEncPart.Key,
		}, nil
	})
	switch {
	case errors.Is(err, directory.ErrNoAccount) || errors.Is(err, directory.ErrNotAllowed):
		return account{}, fmt.Errorf("%w: read the password of %s as %s: %w", credspec.ErrRefused, name, d.HostAccount, err)
	case errors.Is(err, credspec.ErrRefused):
		return account{}, err
	case err != nil:
		return account{}, fmt.Errorf("read the password of %s as %s: %s", name, d.HostAccount, words(err.Error()))
	}

	return managedKey(d.Name, found.Name, found.Password)
}

// managedKey makes the key of an account of its password. Its salt is that of computers, which group managed service
// accounts are (https://learn.microsoft.com/openspecs/windows_protocols/ms-kile/01e20c54-4ee3-4b9a-9c5b-5ef5e8f0bd10).
func managedKey(domain, name, password string) (account, error) {
	realm := strings.ToUpper(domain)
	salt := realm + "host" + strings.ToLower(strings.TrimSuffix(name, "$")) + "." + strings.ToLower(domain)
	kind := encTypes()[0]
	cipher, err := crypto.GetEtype(kind)
	if err != nil {
		return account{}, err
	}

	key, err := cipher.StringToKey(password, salt, cipher.GetDefaultStringToKeyParams())
	if err != nil {
		return account{}, fmt.Errorf("make key of %s: %w", name, err)
	}

	a := account{
		name:   types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, name),
		realm:  realm,
		kind:   kind,
		keytab: keytab.New(),
		made:   true,
	}

	if err := a.keytab.AddEntry(name, realm, "", time.Now(), 0, kind); err != nil {
		return account{}, fmt.Errorf("make key of %s: %w", name, err)
	}
	a.keytab.Entries[0].Key = types.EncryptionKey{KeyType: kind, KeyValue: key}
	return a, nil
}
