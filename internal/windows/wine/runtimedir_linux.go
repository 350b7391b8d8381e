package wine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// startWithRuntimeDir starts cmd with a runtime folder, /run/user/UID, below dir in the place of the user's, which is
// there only while the user has a session. Nobody else sees it. Who is not root has the user's own.
//
// Debian's Wine has its server's socket in the runtime folder. Where that is missing it makes a folder below TMPDIR or
// /tmp, and leaves it there; Wine 10.0 of Debian 13 aborts if TMPDIR is set.
func startWithRuntimeDir(cmd *exec.Cmd, dir string) error {
	if os.Geteuid() != 0 {
		return cmd.Start()
	}
	return netns.OnThread(func() error {
		if err := privateRuntimeDir(dir); err != nil {
			return fmt.Errorf("make a runtime folder: %w", err)
		}
		return cmd.Start()
	})
}

// privateRuntimeDir moves the calling thread, which must be thrown away afterwards, into a mount namespace with the
// folder.
func privateRuntimeDir(dir string) error {
	own := filepath.Join("run/user", strconv.Itoa(os.Geteuid()))
	if err := os.MkdirAll(filepath.Join(dir, own), 0o700); err != nil {
		return err
	}

	// The deepest of these that the machine has is covered, and nothing is made on the machine.
	covered := "/" + own
	for covered != "/run" {
		if _, err := os.Stat(covered); err == nil {
			break
		}
		covered = filepath.Dir(covered)
	}

	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return err
	}

	return unix.Mount(filepath.Join(dir, covered), covered, "", unix.MS_BIND, "")
}
