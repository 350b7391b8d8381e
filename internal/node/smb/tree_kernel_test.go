//go:build kernel

package smb_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/node/smb"
	"mullion.dev/mullion/internal/node/smb/smbtest"
	"mullion.dev/mullion/internal/node/tickets"
	"mullion.dev/mullion/internal/node/tickets/kdctest"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/credspec"
)

const specText = `{"CmsPlugins": ["ActiveDirectory"],
	"DomainJoinConfig": {"Sid": "S-1-5-21-1-2-3", "Guid": "244818ae-87ca-4fcd-92ec-e79e5252348a", "DnsName": "contoso.com",
		"MachineAccountName": "WebApp1", "DnsTreeName": "contoso.com", "NetBiosName": "CONTOSO"},
	"ActiveDirectoryConfig": {"GroupManagedServiceAccounts": [{"Name": "WebApp1", "Scope": "contoso.com"}]}}`

// account is a container's account in a domain, with the tree of its shares.
type account struct {
	netns, files, folder string
	kdc                  *kdctest.KDC
	keys                 tickets.Keys
}

func newAccount(t *testing.T) *account {
	t.Helper()
	dir := t.TempDir()
	a := &account{
		netns: filepath.Join(dir, "netns"), files: filepath.Join(dir, "files"), folder: filepath.Join(dir, "unc"),
	}
	if _, err := netns.Ensure(a.netns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Remove(a.netns); err != nil {
			t.Error(err)
		}
	})
	for _, folder := range []string{a.files, a.folder} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a.kdc = kdctest.Start(t, a.netns, kdctest.Host)
	a.keys = tickets.Keys{
		Domains: []spec.Domain{{Name: "contoso.com", KDCs: []string{kdctest.Host}, Keytab: a.kdc.Add(t, "webapp1$")}},
		Dial:    proc.DialIn(a.netns),
	}
	mount, err := smb.Tree{Program: os.Args[0], Container: a.folder, NetNS: a.netns, Files: a.files}.Mount(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer mount.Close()
	if err := unix.MoveMount(int(mount.Fd()), "", unix.AT_FDCWD, a.folder, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(a.folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return a
}

// logon gives the container a ticket.
func (a *account) logon(t *testing.T) {
	t.Helper()
	s, err := credspec.Parse(specText)
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := a.keys.Logon(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{credspec.CacheFile: ticket.Cache, credspec.ConfigFile: ticket.Config} {
		if err := os.WriteFile(filepath.Join(a.files, filepath.Base(name)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (a *account) server(t *testing.T) *smbtest.Server {
	t.Helper()
	return smbtest.Start(t, a.netns, loopback, smbtest.Options{
		Keytab: a.kdc.Add(t, "cifs/"+loopback), Account: "webapp1$@" + kdctest.Realm,
	})
}

func (a *account) at(names ...string) string {
	return filepath.Join(append([]string{a.folder}, names...)...)
}

// TestTree: a container's account uses a share by its name.
func TestTree(t *testing.T) {
	a := newAccount(t)
	s := a.server(t)
	a.logon(t)
	file := a.at(loopback, "Data", "text")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(s.Dir, "text")); string(data) != "text" || err != nil {
		t.Errorf("on the server: %q, %v", data, err)
	}
	for _, name := range []string{"", "text", "new"} {
		begin := time.Now()
		_, err := os.Open(a.at(loopback, smbtest.Closed, name))
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%q in a share that is closed: %v", name, err)
		}
		t.Logf("%s", time.Since(begin))
	}
}
