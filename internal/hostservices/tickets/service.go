package tickets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// Service asks the controllers of an account's domain for a ticket for a service, for example "cifs/fs.contoso.com"
// (RFC 4120, 3.3). cache and text are the content of credspec.CacheFile and credspec.ConfigFile, which the container
// may have written itself. The client that is returned has that ticket, and asks nobody. The error is one of
// credspec's, with the reason. The service must be of the account's own domain.
func Service(
	ctx context.Context, cache, text []byte, service string,
	dial func(ctx context.Context, network, address string) (net.Conn, error),
) (c *client.Client, err error) {
	defer func() { err = recovered(recover(), err) }() // the decoders
	granting, err := grantingTicket(cache)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", credspec.ErrRefused, err)
	}
	cfg, err := config.NewFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: the configuration of Kerberos is not understood", credspec.ErrRefused)
	}

	cfg.LibDefaults.DefaultTGSEnctypeIDs, cfg.LibDefaults.DefaultTGSEnctypes = encTypes(), nil
	controllers := controllersOf(cfg, granting.realm)
	cfg.Realms, cfg.LibDefaults.DNSLookupKDC = nil, false
	var errs []error
	for _, kdc := range controllers {
		reply, err := granting.ask(ctx, Keys{Dial: dial}, kdc, cfg, service)
		if errors.Is(err, credspec.ErrRefused) {
			return nil, err
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("ask %s: %w", kdc, err))
			continue
		}

		return clientOf(cache, reply, cfg)
	}

	return nil, fmt.Errorf("%w: %w", credspec.ErrUnreachable, errors.Join(errs...))
}

func controllersOf(cfg *config.Config, realm string) []string {
	for _, r := range cfg.Realms {
		if r.Realm == realm {
			return r.KDC[:min(len(r.KDC), maxControllers)]
		}
	}
	return nil
}

// granting is a ticket-granting ticket.
type granting struct {
	realm  string
	name   types.PrincipalName
	ticket messages.Ticket
	key    types.EncryptionKey
}

func grantingTicket(cache []byte) (g granting, err error) {
	// First by a reader that makes no room for what is not there: the container may have written the cache.
	if _, err := credspec.ParseCache(cache); err != nil {
		return granting{}, errors.New("the container's credential cache is none")
	}
	var c credentials.CCache
	if err := c.Unmarshal(cache); err != nil {
		return granting{}, errors.New("the container's credential cache is none")
	}

	g.realm, g.name = c.DefaultPrincipal.Realm, c.DefaultPrincipal.PrincipalName
	found, ok := c.GetEntry(types.NewPrincipalName(nametype.KRB_NT_SRV_INST, "krbtgt/"+g.realm))
	if !ok || g.ticket.Unmarshal(found.Ticket) != nil {
		return granting{}, errors.New("the container's credential cache has no ticket of its domain")
	}
	g.key = found.Key
	return g, nil
}

// ask asks a controller for a ticket for a service.
func (g granting) ask(
	ctx context.Context, k Keys, kdc string, cfg *config.Config, service string,
) (rep messages.TGSRep, err error) {
	name := types.NewPrincipalName(nametype.KRB_NT_SRV_INST, service)
	request, err := messages.NewTGSReq(g.name, g.realm, cfg, g.ticket, g.key, name, false)
	if err != nil {
		return rep, fmt.Errorf("make request: %w", err)
	}
	message, err := request.Marshal()
	if err != nil {
		return rep, fmt.Errorf("make request: %w", err)
	}

	answer, _, err := k.send(ctx, completed(kdc), message)
	if err != nil {
		return rep, err
	}
	if isRefusal(answer) {
		return rep, refused(answer)
	}

	if err := rep.Unmarshal(answer); err != nil {
		return rep, errors.New("the answer is none of Kerberos")
	}
	if err := rep.DecryptEncPart(g.key); err != nil {
		return rep, errors.New("the answer is not the domain's")
	}
	if ok, err := rep.Verify(cfg, request); err != nil || !ok {
		return rep, fmt.Errorf("the answer is not the domain's: %s", words(fmt.Sprint(err)))
	}

	if !rep.Ticket.SName.Equal(name) {
		return rep, fmt.Errorf("%w: the service is of another domain: %s", credspec.ErrRefused,
			words(rep.Ticket.SName.PrincipalNameString()))
	}
	return rep, nil
}

// clientOf returns a client with a container's credential cache and one ticket more.
func clientOf(cache []byte, rep messages.TGSRep, cfg *config.Config) (*client.Client, error) {
	w := &writer{b: bytes.Clone(cache)}
	if err := w.credential(rep.KDCRepFields); err != nil {
		return nil, err
	}
	var c credentials.CCache
	if err := c.Unmarshal(w.b); err != nil {
		return nil, errors.New("the container's credential cache is none")
	}
	return client.NewFromCCache(&c, cfg)
}
