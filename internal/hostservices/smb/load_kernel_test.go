//go:build kernel

package smb_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
)

// TestManyAtOnce: a container whose threads all ask at once, while the server does not answer, does not end the share
// for others by the memory that their requests take.
func TestManyAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	const size = 1 << 20
	for name, load := range map[string]struct {
		threads int
		ask     func(f *os.File, page []byte, at int64) (int, error)
	}{"read": {700, (*os.File).ReadAt}, "write": {1300, (*os.File).WriteAt}} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			s := smbtest.Start(t, h.netns, loopback, smbtest.Options{})
			dir := h.mapped(t, mapAs(smbtest.User))
			if err := os.WriteFile(filepath.Join(s.Dir, "data"), make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}

			page, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = unix.Munmap(page) }()

			var files []*os.File
			for i := range load.threads {
				file := "data"
				if name == "write" { // the kernel lets a file's writers wait for one another
					file = fmt.Sprint("data", i)
				}
				f, err := os.OpenFile(filepath.Join(dir, file), os.O_RDWR|os.O_CREATE|syscall.O_DIRECT, 0o600)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				files = append(files, f)
			}

			resume := s.Pause()
			time.AfterFunc(8*time.Second, resume) // less than a request may take
			var all sync.WaitGroup
			var failed atomic.Int32
			begin := time.Now()

			for _, f := range files {
				all.Go(func() {
					if _, err := load.ask(f, page, 0); err != nil {
						failed.Add(1)
					}
				})
			}

			all.Wait()
			n := int(failed.Load())
			t.Logf("%d of %d failed, after %v", n, len(files), time.Since(begin))
			if n == len(files) {
				t.Errorf("all of %d failed: nothing was asked at once", n)
			}

			if err := os.WriteFile(filepath.Join(dir, "after"), []byte("after"), 0o600); err != nil {
				t.Errorf("the share serves no more: %v", err)
			}
			if data, err := os.ReadFile(filepath.Join(s.Dir, "after")); !bytes.Equal(data, []byte("after")) {
				t.Errorf("on the server: %q, %v", data, err)
			}
		})
	}
}

// checkKeeper looks at the process that keeps a mapping: it has a user of its own, and no rights.
func checkKeeper(t *testing.T, h host) {
	t.Helper()
	checkStatus(t, processOf(t, keeper.Share, h.folder))
}

// processOf returns the folder in /proc of the process that keeps shares for what the folder of state belongs to.
func processOf(t *testing.T, command, folder string) string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range all {
		args, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(args), command+"\x00"+folder) {
			return filepath.Dir(file)
		}
	}

	t.Fatal("no process keeps the shares")
	return ""
}

// checkStatus looks at a process that keeps shares by its folder in /proc.
func checkStatus(t *testing.T, process string) {
	t.Helper()
	status, err := os.ReadFile(filepath.Join(process, "status"))
	if err != nil {
		t.Fatal(err)
	}

	checkHidden(t, process)
	for _, line := range []string{
		"Uid:\t65531\t65531\t65531\t65531\n", "Gid:\t65531\t65531\t65531\t65531\n", "CapEff:\t0000000000000000\n",
		"CapPrm:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Groups:\t \n",
	} {
		if !strings.Contains(string(status), line) {
			t.Errorf("no %q in:\n%s", line, status)
		}
	}

	checkAlone(t, process)
}

// checkAlone looks whether a process is the first of a PID namespace of its own, and so can signal no other.
func checkAlone(t *testing.T, process string) {
	t.Helper()
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := os.Readlink(filepath.Join(process, "ns/pid"))
	if err != nil || namespace == own {
		t.Errorf("it is in the PID namespace %s, this test in %s (%v)", namespace, own, err)
	}
}

// checkHidden looks whether others of a process' user see its memory, in which is a password.
func checkHidden(t *testing.T, process string) {
	t.Helper()
	info, err := os.Stat(filepath.Join(process, "mem"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 0 {
		t.Errorf("user %d can read the memory of %s", owner, process)
	}
}
