//go:build kernel

package smb_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

// TestKeeperKilled: a mapping without its process gives errors, and can be made anew, with the letter that it had.
func TestKeeperKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	s := smbtest.Start(t, h.netns, loopback, smbtest.Options{})
	request := mapAs(smbtest.User)
	request.Local = "g:"
	dir := h.mapped(t, request)

	pid, err := strconv.Atoi(filepath.Base(processOf(t, keeper.Share, h.folder)))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}

	deadline := time.Now().Add(10 * time.Second)
	for h.get(t)[0].Connected {
		if time.Now().After(deadline) {
			t.Fatal("a mapping without its process is connected")
		}
		time.Sleep(20 * time.Millisecond)
	}

	if _, err := os.ReadDir(dir); err == nil {
		t.Error("a share without its process can be read")
	}
	dir = h.mapped(t, mapAs(smbtest.User))
	if err := os.WriteFile(filepath.Join(dir, "again"), nil, 0o600); err != nil {
		t.Error(err)
	}

	if _, err := os.Stat(filepath.Join(s.Dir, "again")); err != nil {
		t.Error(err)
	}

	want := smbmapping.Mapping{
		Remote:    mapAs("").Remote,
		Local:     "G:",
		Connected: true,
	}
	if all := h.get(t); len(all) != 1 || all[0] != want {
		t.Errorf("mappings %+v, want %+v", all, want)
	}
}
