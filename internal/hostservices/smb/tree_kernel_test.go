//go:build kernel

package smb_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/hostservices/smb"
	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
	"mullion.dev/mullion/internal/hostservices/tickets"
	"mullion.dev/mullion/internal/hostservices/tickets/adtest"
	"mullion.dev/mullion/internal/hostservices/tickets/kdctest"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wire/credspec"
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
	unmounted            bool
}

func newAccount(t *testing.T) *account {
	t.Helper()
	a := newTree(t, smb.Names{})
	a.kdc = kdctest.Start(t, a.netns, kdctest.Host)
	a.keys = tickets.Keys{
		Domains: []spec.Domain{{Name: "contoso.com", KDCs: []string{kdctest.Host}, Keytab: a.kdc.Add(t, "webapp1$")}},
		Dial:    proc.DialIn(a.netns),
	}
	return a
}

// newTree returns an account without keys.
func newTree(t *testing.T, names smb.Names) *account {
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

	mount, err := smb.Tree{
		Program: os.Args[0], Container: a.folder, NetNS: a.netns, Files: a.files, Names: names,
	}.Mount(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer mount.Close()

	if err := unix.MoveMount(int(mount.Fd()), "", unix.AT_FDCWD, a.folder, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(a.folder, unix.MNT_DETACH); err != nil && !a.unmounted {
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

// listen listens where a server would, and says nothing.
func (a *account) listen(t *testing.T, host string) {
	t.Helper()
	err := netns.Do(a.netns, func() error {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "445"))
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
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
	if err := os.Rename(file, a.at(loopback, smbtest.Share, "moved")); err != nil {
		t.Error(err)
	}

	for _, name := range []string{"", "text", "new"} {
		file := a.at(loopback, smbtest.Closed, name)
		_, statErr := os.Stat(file)
		_, err := os.Open(file)
		if !errors.Is(statErr, fs.ErrPermission) || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%q in a share that is closed: %v, %v", name, statErr, err)
		}
	}
}

// TestTreeActiveDirectory: a container that is a group managed service account uses a share of the domain's controller
// that is the account's alone.
func TestTreeActiveDirectory(t *testing.T) {
	const controller = "10.99.0.1"
	a := newTree(t, smb.Names{Servers: []string{controller}})
	args := []string{"--net=" + a.netns, "ip", "addr", "add", controller + "/32", "dev", "lo"}
	if out, err := exec.CommandContext(t.Context(), "nsenter", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	d := adtest.Start(t, a.netns, controller, "webapp1$")
	a.keys = tickets.Keys{
		Domains: []spec.Domain{{
			Name: "contoso.com", KDCs: []string{controller}, Keytab: d.Keytab(adtest.Node), HostAccount: adtest.Node,
		}},
		Dial: proc.DialIn(a.netns),
	}

	d.AddManaged("webapp1$")
	a.logon(t)
	file := a.at(adtest.Controller, adtest.Share, "text")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Errorf("%v\n%s", err, d.Log())
	}

	if data, err := os.ReadFile(filepath.Join(d.Dir, "text")); string(data) != "text" || err != nil {
		t.Errorf("on the server: %q, %v", data, err)
	}
	if _, err := os.ReadFile(a.at(adtest.Controller, adtest.Closed, "text")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a share of another account: %v", err)
	}
}

// TestTreeWithoutRight: what the account cannot use is refused, or is not there, and does not hold anybody up for long.
func TestTreeWithoutRight(t *testing.T) {
	a := newAccount(t)
	a.server(t)
	for name, bad := range map[string]func(file string) error{
		"no ticket":      func(string) error { return nil },
		"no cache":       func(file string) error { return os.WriteFile(file, []byte("\x05\x04\x00\x00\xff\xff\xff\xff"), 0o644) },
		"a link":         func(file string) error { return os.Symlink("/etc/passwd", file) },
		"a pipe":         func(file string) error { return unix.Mkfifo(file, 0o644) },
		"a folder":       func(file string) error { return os.Mkdir(file, 0o755) },
		"of nothing":     func(file string) error { return os.WriteFile(file, nil, 0o644) },
		"a large number": func(file string) error { return os.WriteFile(file, hugeCache(), 0o644) },
	} {
		file := filepath.Join(a.files, filepath.Base(credspec.CacheFile))
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if err := bad(file); err != nil {
			t.Fatal(err)
		}

		// another share each time: the last failure is remembered
		if _, err := os.ReadFile(a.at(loopback, name, "text")); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := os.RemoveAll(filepath.Join(a.files, filepath.Base(credspec.CacheFile))); err != nil {
		t.Fatal(err)
	}
	a.logon(t)
	a.listen(t, "127.0.0.3")
	if _, err := os.ReadFile(a.at("127.0.0.3", smbtest.Share, "text")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a server that the domain does not know: %v", err)
	}

	for _, names := range [][]string{
		{loopback, "none"},
		{"127.0.0.9", smbtest.Share},
		{"nobody", smbtest.Share},
		{"a_b", smbtest.Share},
		{loopback, "a:b"},
		{strings.Repeat("a", 255), smbtest.Share},
		{loopback, strings.Repeat("a", 81)},
	} {
		if _, err := os.Stat(a.at(names...)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%.20q: %v", names, err)
		}
	}

	if _, err := os.ReadFile(a.at(loopback, smbtest.Share, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.Mkdir(a.at("new"), 0o755); err == nil {
		t.Error("a server was made")
	}
	if err := os.Mkdir(a.at(loopback, "new"), 0o755); err == nil {
		t.Error("a share was made")
	}
}

// hugeCache returns a credential cache whose first name has two milliards of parts.
func hugeCache() []byte {
	return []byte("\x05\x04\x00\x00\x00\x00\x00\x01\x7f\xff\xff\xff\x00\x00\x00\x00")
}

// TestTreeBounds: names of many shares do not fill the process that keeps them, and a share that works stays.
func TestTreeBounds(t *testing.T) {
	a := newAccount(t)
	a.server(t)
	a.logon(t)
	if err := os.WriteFile(a.at(loopback, smbtest.Share, "text"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}

	for i := range 200 {
		if _, err := os.Stat(a.at("127.0.0.9", fmt.Sprint("share", i))); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("share %d: %v", i, err)
		}
	}

	if data, err := os.ReadFile(a.at(loopback, smbtest.Share, "text")); string(data) != "text" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// TestTreeServerGone: a server may go and come back; one that says nothing is given up.
func TestTreeServerGone(t *testing.T) {
	a := newAccount(t)
	s := a.server(t)
	a.logon(t)
	file := a.at(loopback, smbtest.Share, "text")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}

	s.Stop()
	if data, err := os.ReadFile(file); err == nil {
		t.Errorf("read %q without a server", data)
	}

	a.listen(t, "127.0.0.2")
	a.kdc.Add(t, "cifs/127.0.0.2")
	begin := time.Now()
	if _, err := os.Stat(a.at("127.0.0.2", smbtest.Share)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server that says nothing: %v", err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}

	s.Run(t)
	deadline := time.Now().Add(20 * time.Second)
	for {
		data, err := os.ReadFile(file)
		if string(data) == "text" && err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("with the server again: %q, %v", data, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// TestTreeKeeperKilled: without the process that keeps it a tree gives errors, and nobody waits.
func TestTreeKeeperKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	a := newAccount(t)
	pid := a.keeper(t)
	checkStatus(t, fmt.Sprintf("/proc/%d", pid))
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}

	deadline := time.Now().Add(10 * time.Second)
	for {
		_, err := os.Stat(a.at(loopback, smbtest.Share))
		if errors.Is(err, unix.ENOTCONN) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("without its process: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestTreeEnds: the process ends with the mount.
func TestTreeEnds(t *testing.T) {
	a := newAccount(t)
	pid := a.keeper(t)
	if err := unix.Unmount(a.folder, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	a.unmounted = true
	for deadline := time.Now().Add(10 * time.Second); unix.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it has not ended")
		}
	}
}

// keeper returns the process that keeps the tree.
func (a *account) keeper(t *testing.T) int {
	t.Helper()
	pid, err := strconv.Atoi(filepath.Base(processOf(t, keeper.Shares, a.folder)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
