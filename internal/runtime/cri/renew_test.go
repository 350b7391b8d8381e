package cri

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/windows/wire/credspec"
)

type fakeDomains struct {
	err   error
	count int
	at    time.Time
}

func (f *fakeDomains) Logon(_ context.Context, s credspec.Spec) (credspec.Ticket, error) {
	f.count++
	t := credspec.Ticket{
		Domain: s.Domain(), Cache: []byte("ticket"), Renew: f.at.Add(time.Hour), End: f.at.Add(2 * time.Hour),
	}
	t.Domain.Status = 0
	return t, f.err
}

// TestRenewDue: a ticket is renewed when it is due, again a minute after a failure, and a container is told when it has
// none any more.
func TestRenewDue(t *testing.T) {
	const spec = `{"CmsPlugins": ["ActiveDirectory"], "DomainJoinConfig": {"Sid": "S-1-5-21-1-2-3",
		"Guid": "244818ae-87ca-4fcd-92ec-e79e5252348a", "DnsName": "contoso.com", "MachineAccountName": "WebApp1",
		"DnsTreeName": "contoso.com", "NetBiosName": "CONTOSO"},
		"ActiveDirectoryConfig": {"GroupManagedServiceAccounts": [{"Name": "WebApp1", "Scope": "contoso.com"}]}}`
	dir := t.TempDir()
	containers, err := store.Open[store.Container](filepath.Join(dir, "containers"))
	if err != nil {
		t.Fatal(err)
	}

	now := time.Now()
	f := &fakeDomains{at: now}
	s := &Server{
		cfg:        Config{StateDir: dir, Domains: f},
		log:        slog.New(slog.DiscardHandler),
		containers: containers,
	}

	config := &runtimeapi.ContainerConfig{Windows: &runtimeapi.WindowsContainerConfig{
		SecurityContext: &runtimeapi.WindowsContainerSecurityContext{CredentialSpec: spec},
	}}

	c := store.Container{
		ID:        "c1",
		StartedAt: now,
		Config:    store.ContainerConfig{ContainerConfig: config},
	}
	if err := containers.Put(c.ID, c); err != nil {
		t.Fatal(err)
	}

	if err := os.MkdirAll(s.runDir(c), 0o755); err != nil {
		t.Fatal(err)
	}

	r := renewals{due: map[string]time.Time{}, ends: map[string]time.Time{}}
	step := func(after time.Duration, err error, count, status string) {
		t.Helper()
		f.err, f.at = err, now.Add(after)
		s.renewDue(t.Context(), r, now.Add(after))
		text, err := os.ReadFile(filepath.Join(s.runDir(c), "domain"))
		if err != nil || !strings.Contains(string(text), "status="+status+"\n") {
			t.Errorf("after %v: %q, %v", after, text, err)
		}

		if got := strings.Repeat("i", f.count); got != count {
			t.Errorf("after %v: %d logons, want %d", after, f.count, len(count))
		}
	}

	away := errors.Join(credspec.ErrUnreachable)
	step(0, nil, "i", "0")
	step(59*time.Minute, nil, "i", "0")
	step(61*time.Minute, away, "ii", "0")
	step(61*time.Minute+30*time.Second, away, "ii", "0")
	step(63*time.Minute, away, "iii", "0")
	step(3*time.Hour, away, "iiii", "1311")
	step(4*time.Hour, nil, "iiiii", "0")
	if _, err := containers.Update(c.ID, func(c store.Container) (store.Container, error) {
		c.FinishedAt = now
		return c, nil
	}); err != nil {
		t.Fatal(err)
	}

	s.renewDue(t.Context(), r, now.Add(9*time.Hour))
	if f.count != 5 || len(r.due)+len(r.ends) != 0 {
		t.Errorf("after its end: %d logons, %v", f.count, r)
	}
}
