package cri

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// askedCredential returns the credential spec that a container asks for, "" if it asks for none.
func askedCredential(c store.Container) string {
	return c.Config.GetWindows().GetSecurityContext().GetCredentialSpec()
}

// credentialSpec returns the one that a container has, "" if there is none or it cannot be honoured, which is the
// matter of its start.
func (s *Server) credentialSpec(c store.Container) string {
	text, err := s.kindOf(c.SandboxID).credential(c)
	if err != nil {
		return ""
	}
	return text
}

// noCredential begins what is said of a credential spec that cannot be honoured.
const noCredential = "failed to generate container credential guard instance: hcs::ModifyServiceSettings: "

// logon puts a container into the domain of its credential spec before it starts: its programs are told of the domain,
// and where the node has the account's keys they get a ticket. The error says what cannot be honoured: hcsshim's words
// (https://github.com/microsoft/hcsshim/blob/v0.13.0/internal/credentials/credentials.go), Windows' error, and why.
func (s *Server) logon(ctx context.Context, c store.Container) error {
	text, err := s.kindOf(c.SandboxID).credential(c)
	if text == "" || err != nil {
		return err
	}

	spec, err := credspec.Parse(text)
	switch {
	case errors.Is(err, credspec.ErrPlugin):
		return fmt.Errorf(noCredential+"Class not registered (0x80040154): %w", err)
	case err != nil:
		return fmt.Errorf(noCredential+"The parameter is incorrect. (0x80070057): %w", err)
	}

	if _, err := s.writeTicket(ctx, c, spec); err != nil {
		return fmt.Errorf(noCredential+"%w", err)
	}
	return nil
}

// openShares mounts the SMB shares that a container's programs use as the account of its credential spec; nil: it has
// none. A spec that cannot be read is the matter of its start.
func (s *Server) openShares(ctx context.Context, sb store.Sandbox, c store.Container) (*os.File, error) {
	text := s.credentialSpec(c)
	if text == "" || s.cfg.Shares == nil {
		return nil, nil
	}
	spec, err := credspec.Parse(text)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}

	dns := podOf(sb).DNS
	user := ShareUser{
		Container: c.ID, Spec: spec, NetNS: sb.NetNS, Files: s.runDir(c), Servers: dns.Servers, Suffixes: dns.Searches,
	}
	if !s.cfg.LinuxNames { // see windowsResolver
		user.Suffixes = user.Suffixes[:min(len(user.Suffixes), 1)]
	}
	return s.cfg.Shares(ctx, user)
}

// writeTicket gets a ticket and writes what the container's programs need. Without keys they are told of the domain
// alone, and the ticket is the zero value.
func (s *Server) writeTicket(ctx context.Context, c store.Container, spec credspec.Spec,
) (t credspec.Ticket, err error) {
	err = credspec.ErrNoKeys
	if s.cfg.Domains != nil {
		t, err = s.cfg.Domains.Logon(ctx, spec)
	}
	if errors.Is(err, credspec.ErrNoKeys) {
		return credspec.Ticket{}, s.writeCredential(c, credspec.File, spec.Domain().Text())
	}

	if err != nil {
		return credspec.Ticket{}, err
	}

	for _, f := range []struct {
		path string
		data []byte
	}{
		{credspec.ConfigFile, t.Config}, {credspec.CacheFile, t.Cache}, {credspec.File, t.Domain.Text()},
	} {
		if err := s.writeCredential(c, f.path, f.data); err != nil {
			return credspec.Ticket{}, err
		}
	}

	return t, nil
}

// writeCredential replaces a file of the container's working folder, which is memory, and which the machine's root and
// the container alone can reach. Whatever user of the container a program has, it may read the file.
func (s *Server) writeCredential(c store.Container, file string, data []byte) error {
	if err := atomicfile.Write(filepath.Join(s.runDir(c), path.Base(file)), data, 0o644); err != nil {
		return fmt.Errorf("write the container's domain: %w", err)
	}
	return nil
}

// How often tickets are looked at, and how long after a failure it is tried again.
const (
	renewTick  = 30 * time.Second
	renewAgain = time.Minute
)

// longestTicket is how long a ticket is good at most, as Active Directory has it unless it is told otherwise: by its
// policy "Maximum lifetime for user ticket".
const longestTicket = 10 * time.Hour

// renewTickets gets new tickets for the containers that run before theirs end, until ctx ends. A server that takes over
// containers does so at once. A ticket that cannot be had is logged, and the container is told when the old one has
// ended.
func (s *Server) renewTickets(ctx context.Context) {
	if s.cfg.Domains == nil {
		return
	}
	r := renewals{due: map[string]time.Time{}, ends: map[string]time.Time{}}
	tick := time.NewTicker(renewTick)
	defer tick.Stop()

	for {
		s.renewDue(ctx, r, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// renewals say of containers when their tickets are to be renewed, and when they end.
type renewals struct{ due, ends map[string]time.Time }

func (s *Server) renewDue(ctx context.Context, r renewals, now time.Time) {
	running := map[string]bool{}
	for _, c := range s.containers.List(nil) {
		if c.State() != runtimeapi.ContainerState_CONTAINER_RUNNING || s.credentialSpec(c) == "" {
			continue
		}
		running[c.ID] = true
		if now.Before(r.due[c.ID]) {
			continue
		}

		if err := s.renew(ctx, r, c, now); err != nil && ctx.Err() == nil {
			r.due[c.ID] = now.Add(renewAgain)
			s.log.Warn("ticket not renewed", "container", c.ID, "error", err)
		}
	}

	gone := func(id string, _ time.Time) bool { return !running[id] }
	maps.DeleteFunc(r.due, gone)
	maps.DeleteFunc(r.ends, gone)
}

func (s *Server) renew(ctx context.Context, r renewals, c store.Container, now time.Time) error {
	spec, err := credspec.Parse(s.credentialSpec(c))
	if err != nil {
		return err
	}

	t, err := s.writeTicket(ctx, c, spec)
	if err == nil {
		r.due[c.ID], r.ends[c.ID] = t.Renew, t.End
		if t.Renew.IsZero() { // no keys, and that stays so
			r.due[c.ID] = now.Add(365 * 24 * time.Hour)
		}
		return nil
	}

	if _, known := r.ends[c.ID]; !known { // it was given by a server before this one
		r.ends[c.ID] = now.Add(longestTicket)
	}
	if now.After(r.ends[c.ID]) {
		return errors.Join(err, s.writeCredential(c, credspec.File, spec.Domain().Text()))
	}
	return err
}
