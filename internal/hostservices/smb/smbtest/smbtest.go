//go:build kernel || wine || cluster

// Package smbtest runs Samba's file server for tests, in a network namespace.
package smbtest

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/process/proc"
)

// The shares that every server has: one with a user who may use it, and one who may only read, and one that only the
// second may use; their password.
const (
	Share    = "data"
	Closed   = "closed"
	User     = "alice"
	Reader   = "bob"
	Password = "of-the-test-1"
)

// Server is a server.
type Server struct {
	// Dir is the folder that is the share.
	Dir string

	dir, netns, host string
	cmd              *exec.Cmd
}

// Options are what differs between servers.
type Options struct {
	// Encrypt is Samba's word for it: off, required, or if_required, which leaves it to the client and is meant by "".
	Encrypt string
	// Keytab has the server's keys of Kerberos; "": only passwords are taken. Account is a Kerberos principal that may
	// use Share, as name@REALM.
	Keytab, Account string
	// Space is how many bytes the share holds, in memory; 0: as many as there is room for on the disk.
	Space int
}

// Start starts a server in the network namespace pinned at netns, where it listens on the address host and port 445,
// and ends it with the test. The test is skipped where the server is not installed.
func Start(tb testing.TB, netns, host string, o Options) *Server {
	tb.Helper()
	for _, program := range []string{"smbd", "pdbedit"} {
		if _, err := exec.LookPath(program); err != nil {
			tb.Skipf("%s is not installed: Samba's server is in Debian's package samba", program)
		}
	}

	s := &Server{
		dir:   tb.TempDir(),
		netns: netns,
		host:  host,
	}

	s.Dir = filepath.Join(s.dir, "share")
	for _, folder := range []string{"share", "private", "state", "run"} {
		if err := os.Mkdir(filepath.Join(s.dir, folder), 0o700); err != nil {
			tb.Fatal(err)
		}
	}

	if o.Space > 0 {
		limit := fmt.Sprintf("size=%d", o.Space)
		if err := unix.Mount("share", s.Dir, "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, limit); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := unix.Unmount(s.Dir, unix.MNT_DETACH); err != nil {
				tb.Error(err)
			}
		})
	}

	encrypt := cmp.Or(o.Encrypt, "if_required")
	kerberos := ""
	account := ""
	if o.Keytab != "" {
		name, realm, _ := strings.Cut(o.Account, "@")
		workgroup, _, _ := strings.Cut(realm, ".")
		account = fmt.Sprintf(" %s %s\\%s", o.Account, workgroup, name)
		kerberos = fmt.Sprintf(" realm = %s\n workgroup = %s\n kerberos method = dedicated keytab\n"+
			" dedicated keytab file = %s\n", realm, workgroup, o.Keytab)
	}

	// Samba wants a user of Linux for each of its own; who reads and writes on the disk is root.
	for name, text := range map[string]string{
		"users": "games = " + User + account + "\nnews = " + Reader + "\n",
		"smb.conf": fmt.Sprintf(`[global]
 server role = standalone server
 interfaces = %[1]s/32
 bind interfaces only = yes
 smb ports = 445
 disable netbios = yes
 disable spoolss = yes
 load printers = no
 map to guest = never
 username map = %[2]s/users
 private dir = %[2]s/private
 lock directory = %[2]s/state
 state directory = %[2]s/state
 cache directory = %[2]s/state
 pid directory = %[2]s/run
 ncalrpc dir = %[2]s/run/ncalrpc
 log file = %[2]s/log
 smb encrypt = %[3]s
%[5]s[%[4]s]
 path = %[2]s/share
 read list = news
 read only = no
 force user = root
 store dos attributes = no
 map readonly = yes
[%[6]s]
 path = %[2]s/share
 valid users = news
 force user = root
`, host, s.dir, encrypt, Share, kerberos, Closed),
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}

	for _, user := range []string{"games", "news"} {
		cmd := exec.CommandContext(tb.Context(), "pdbedit", "-s", s.config(), "-a", "-t", "-u", user)
		cmd.Stdin = strings.NewReader(Password + "\n" + Password + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("pdbedit: %v\n%s", err, out)
		}
	}

	s.Run(tb)
	return s
}

func (s *Server) config() string { return filepath.Join(s.dir, "smb.conf") }

// Clients returns a table of the shares in use, as Samba prints it: who uses each, and the cipher if all requests about
// it were encrypted ("partial" before it means some of them, "-" none).
func (s *Server) Clients(tb testing.TB) string {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), "smbstatus", "-s", s.config(), "--shares").CombinedOutput()
	if err != nil {
		tb.Fatalf("smbstatus: %v\n%s", err, out)
	}
	return string(out)
}

// Run starts the server again.
func (s *Server) Run(tb testing.TB) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "nsenter", "--net="+s.netns, "smbd", "--foreground", "--no-process-group",
		"--configfile="+s.config())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}

	s.cmd = cmd
	tb.Cleanup(s.Stop)
	var err error
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); {
		var c net.Conn
		if c, err = proc.DialIn(s.netns)(tb.Context(), "tcp", net.JoinHostPort(s.host, "445")); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-tb.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}

	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	s.Stop()
	tb.Fatalf("wait for smbd: %v\n%s\n%s", err, said.Bytes(), log)
}

// Signal sends a signal to all processes of the server.
func (s *Server) Signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := syscall.Kill(-s.cmd.Process.Pid, signal); err != nil {
		tb.Fatal(err)
	}
}

// Stop ends the server with all its connections.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // its children are of its group
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Pause has the server answer nobody until resume.
func (s *Server) Pause() (resume func()) {
	group := -s.cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGSTOP)
	return func() { _ = syscall.Kill(group, syscall.SIGCONT) }
}
