//go:build kernel || wine || cluster

// Package iscsitest runs tgt, a target of iSCSI, for tests, in a network namespace.
package iscsitest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// What every server has: a target that anybody may use, with the logical units 1 and 2, one that wants CHAP by User and
// Secret, and proves who it is by TargetUser and TargetSecret, and their first disk's size in bytes.
const (
	Open         = "iqn.2026-11.dev.mullion:open"
	Guarded      = "iqn.2026-11.dev.mullion:guarded"
	User         = "alice"
	Secret       = "hush-of-the-test"
	TargetUser   = "target"
	TargetSecret = "target-hush-test"
	DiskSize     = 400 << 20
)

// Server is a target's machine.
type Server struct {
	// Portal is its address and port.
	Portal string
	// Dir is the folder of its disks' files: open-1, open-2, guarded-1.
	Dir string

	netns   string
	control int // tells servers of a machine apart
	cmd     *exec.Cmd
	tb      testing.TB
}

// Start starts a server in the network namespace at netns, where it listens on the address host, and ends it with the
// test. The test is skipped where tgt is not installed.
func Start(tb testing.TB, netns, host string) *Server {
	tb.Helper()
	for _, program := range []string{"tgtd", "tgtadm"} {
		if _, err := exec.LookPath(program); err != nil {
			tb.Skipf("%s is not installed: it is in Debian's package tgt", program)
		}
	}

	s := &Server{
		Portal:  net.JoinHostPort(host, "3260"),
		Dir:     tb.TempDir(),
		netns:   netns,
		control: os.Getpid()%30000 + 1,
		tb:      tb,
	}

	for used(s.control) {
		s.control++
	}

	for _, name := range []string{"open-1", "open-2", "guarded-1"} {
		f, err := os.Create(filepath.Join(s.Dir, name))
		if err != nil {
			tb.Fatal(err)
		}
		if err := f.Truncate(DiskSize); err != nil {
			tb.Fatal(err)
		}
		_ = f.Close()
	}

	tb.Cleanup(func() { s.Stop() })
	s.Again()
	return s
}

func used(control int) bool {
	_, err := os.Stat(fmt.Sprintf("/var/run/tgtd/socket.%d", control))
	return err == nil
}

// Again starts the server that was stopped, with the same disks.
func (s *Server) Again() {
	s.tb.Helper()
	cmd := exec.Command("nsenter", "--net="+s.netns, "tgtd", "-f", "-C", strconv.Itoa(s.control), "--iscsi", "portal="+s.Portal)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}

	s.cmd = cmd
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); s.admin("--mode", "sys", "--op", "show") != nil; <-tick.C {
		if time.Now().After(deadline) {
			s.tb.Fatalf("tgtd does not answer:\n%s", &said)
		}
	}

	s.target(1, Open, "open-1", "open-2")
	s.target(2, Guarded, "guarded-1")
	s.must("--mode", "account", "--op", "new", "--user", User, "--password", Secret)
	s.must("--mode", "account", "--op", "bind", "--tid", "2", "--user", User)
	s.must("--mode", "account", "--op", "new", "--user", TargetUser, "--password", TargetSecret)
	s.must("--mode", "account", "--op", "bind", "--tid", "2", "--user", TargetUser, "--outgoing")
}

// target makes a target with disks of files.
func (s *Server) target(id int, name string, files ...string) {
	s.tb.Helper()
	tid := strconv.Itoa(id)
	s.must("--mode", "target", "--op", "new", "--tid", tid, "-T", name)
	for i, file := range files {
		s.must("--mode", "logicalunit", "--op", "new", "--tid", tid, "--lun", strconv.Itoa(i+1), "-b", filepath.Join(s.Dir, file))
		s.must("--mode", "logicalunit", "--op", "update", "--tid", tid, "--lun", strconv.Itoa(i+1), "--params", "thin_provisioning=1")
	}
	s.must("--mode", "target", "--op", "bind", "--tid", tid, "-I", "ALL")
}

// Stop ends the server at once, as one whose machine loses its power.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	_ = s.cmd.Wait()
	s.cmd = nil
	_ = os.Remove(fmt.Sprintf("/var/run/tgtd/socket.%d", s.control))
	_ = os.Remove(fmt.Sprintf("/var/run/tgtd/socket.%d.lock", s.control))
}

// Pause has the server say nothing until Resume: its machine still answers.
func (s *Server) Pause() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGSTOP) }

// Resume has a server that was paused go on.
func (s *Server) Resume() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGCONT) }

// Grow makes the open target's first disk larger, which nobody reads or writes meanwhile.
func (s *Server) Grow(size int64) {
	s.tb.Helper()
	if err := os.Truncate(filepath.Join(s.Dir, "open-1"), size); err != nil {
		s.tb.Fatal(err)
	}
	s.must("--mode", "logicalunit", "--op", "delete", "--tid", "1", "--lun", "1")
	s.must("--mode", "logicalunit", "--op", "new", "--tid", "1", "--lun", "1", "-b", filepath.Join(s.Dir, "open-1"))
}

// Take takes the open target's second disk away.
func (s *Server) Take() {
	s.tb.Helper()
	s.must("--mode", "logicalunit", "--op", "delete", "--tid", "1", "--lun", "2")
}

func (s *Server) admin(args ...string) error {
	out, err := exec.Command("tgtadm", append([]string{"-C", strconv.Itoa(s.control), "--lld", "iscsi"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("tgtadm %v: %w: %s", args, err, out)
	}
	return nil
}

func (s *Server) must(args ...string) {
	s.tb.Helper()
	if err := s.admin(args...); err != nil {
		s.tb.Fatal(err)
	}
}

// Sessions returns what the server says of a target's sessions.
func (s *Server) Sessions() string {
	out, err := exec.Command("tgtadm", "-C", strconv.Itoa(s.control), "--lld", "iscsi", "--mode", "target", "--op", "show").Output()
	if err != nil {
		s.tb.Fatal(err)
	}
	return string(out)
}
