//go:build kernel

package initiator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/hostservices/disks"
	"mullion.dev/mullion/internal/hostservices/initiator"
	"mullion.dev/mullion/internal/hostservices/iscsi/iscsitest"
	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/hostservices/service/servicetest"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// TestMain is the program that keeps sessions, too.
func TestMain(m *testing.M) {
	run := func() int { return servicetest.Alone(m) }
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case keeper.Disks:
			run = func() int { return said(initiator.Keep(context.Background(), os.Stdin, os.Stdout)) }
		case keeper.Targets:
			run = func() int { return said(initiator.Find(context.Background(), os.Stdin, os.Stdout)) }
		}
	}
	os.Exit(run())
}

func said(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

const hold = 15 * time.Second

// host is a Windows host with its disks and its initiator, whose agent can end and begin again.
type host struct {
	dir    string
	netns  string
	server *iscsitest.Server
	end    func()
}

// newHost starts a host and a target in a network namespace.
func newHost(t *testing.T) *host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		t.Skipf("needs mkfs.xfs: %v", err)
	}

	dir, err := os.MkdirTemp("", "iscsi") //nolint:usetesting // a path that is short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	h := &host{dir: dir, netns: filepath.Join(dir, "netns")}
	if _, err := netns.Ensure(h.netns); err != nil {
		t.Fatal(err)
	}

	for _, dir := range []string{h.mounts(), filepath.Join(h.dir, "prefix", "dosdevices")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := unix.Mount(h.mounts(), h.mounts(), "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		h.end()
		for _, pid := range h.keepers(t) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}

		for _, pattern := range []string{"volumes/*", "volumes", "iscsi/*"} {
			found, _ := filepath.Glob(filepath.Join(h.dir, pattern))
			for _, f := range found {
				_ = unix.Unmount(f, unix.MNT_DETACH)
			}
		}

		h.eventually(t, "no loop device is left", func() error {
			if left := h.loops(t); left != "" {
				return errors.New(left)
			}
			return nil
		})
		if err := errors.Join(netns.Remove(h.netns), os.RemoveAll(h.dir)); err != nil {
			t.Error(err)
		}
	})

	h.server = iscsitest.Start(t, h.netns, "127.0.0.1")
	h.start(t)
	return h
}

func (h *host) mounts() string { return filepath.Join(h.dir, "volumes") }

func (h *host) loops(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}

	found := ""
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), filepath.Base(h.dir)) {
			found += string(data)
		}
	}

	return found
}

// start starts the host's agent, in whatever state the folder is.
func (h *host) start(t *testing.T) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	d := &disks.Server{
		Dir:    filepath.Join(h.dir, "disks"),
		Mounts: h.mounts(),
		Prefix: filepath.Join(h.dir, "prefix"),
		Log:    log,
	}

	i := &initiator.Server{
		Dir: filepath.Join(h.dir, "state"), Folder: filepath.Join(h.dir, "iscsi"), Name: initiator.NameOf("win-1"),
		Program: program, Netns: h.netns, Hold: hold, Disks: d, Log: log,
	}

	h.end = servicetest.Start(t, h.dir, d.Service(), i.Service())
}

func (h *host) iscsi(t *testing.T, r hostiscsi.Request) (hostiscsi.Answer, hostcall.Refusal) {
	t.Helper()
	return servicetest.Ask(t, servicetest.Sockets(h.dir, hostcall.ISCSI).Host, hostiscsi.Call(), r)
}

func (h *host) must(t *testing.T, r hostiscsi.Request) hostiscsi.Answer {
	t.Helper()
	a, no := h.iscsi(t, r)
	if no.Words != "" {
		t.Fatalf("%s %s: %s", r.Do, r.Target, no.Words)
	}
	return a
}

func (h *host) refused(t *testing.T, want string, r hostiscsi.Request) {
	t.Helper()
	if _, no := h.iscsi(t, r); !strings.Contains(no.Words, want) || want == "" || strings.Contains(no.Words, "hush") {
		t.Errorf("%s %s: %q, want %q", r.Do, r.Target, no.Words, want)
	}
}

func (h *host) disk(t *testing.T, r hostdisk.Request) hostdisk.Answer {
	t.Helper()
	a, no := servicetest.Ask(t, servicetest.Sockets(h.dir, hostcall.Disk).Host, hostdisk.Call(), r)
	if no.Words != "" {
		t.Fatalf("%+v: %s", r, no.Words)
	}
	return a
}

// volume makes a volume on a disk, and returns its folder.
func (h *host) volume(t *testing.T, number uint32) string {
	t.Helper()
	h.disk(t, hostdisk.Request{Do: hostdisk.Initialize, Disk: number})
	p := h.disk(t, hostdisk.Request{Do: hostdisk.Partition, Disk: number}).Number
	a := h.disk(t, hostdisk.Request{
		Do:        hostdisk.Format,
		Disk:      number,
		Partition: p,
	})

	for _, d := range a.Disks {
		if d.Number == number {
			return filepath.Join(h.mounts(), d.Partitions[len(d.Partitions)-1].GUID)
		}
	}

	t.Fatalf("no disk %d in %+v", number, a)
	return ""
}

// keepers returns the processes of the host's sessions.
func (h *host) keepers(t *testing.T) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}

	var found []int
	for _, f := range files {
		data, _ := os.ReadFile(f)
		if args := strings.Split(string(data), "\x00"); len(args) > 2 && args[1] == keeper.Disks && strings.HasPrefix(args[2], h.dir) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			found = append(found, pid)
		}
	}

	return found
}

func (h *host) eventually(t *testing.T, what string, is func() error) {
	t.Helper()
	begin := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()

	for ; ; <-tick.C {
		err := is()
		if err == nil {
			t.Logf("%s after %s", what, time.Since(begin).Round(10*time.Millisecond))
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// reads returns an error if a file has not that text.
func reads(file, want string) func() error {
	return func() error {
		data, err := os.ReadFile(file)
		if err == nil && string(data) != want {
			err = fmt.Errorf("it has %q", data)
		}
		return err
	}
}
