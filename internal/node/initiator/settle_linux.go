package initiator

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// settleTimeout bounds how long Settle waits for targets.
const settleTimeout = 10 * time.Second

// Settle writes to the targets what is cached of the volumes on their disks, for all file systems of sessions that are
// mounted below a folder. Where a target does not take it in time, all that waits for it gets errors, and its disks
// are gone. So what uses them can be ended, and keepers can, without a loss.
func Settle(ctx context.Context, dir string) error {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		ours := m.FSType == "xfs" || m.FSType == "fuse."+kind
		return !ours || !strings.HasPrefix(m.Mountpoint, dir+"/"), false
	})
	if err != nil {
		return err
	}

	var sessions, volumes []string
	for _, m := range mounts {
		if m.FSType == "xfs" {
			volumes = append(volumes, m.Mountpoint)
		} else {
			sessions = append(sessions, m.Mountpoint)
		}
	}

	if len(sessions) == 0 {
		return nil
	}
	var all sync.WaitGroup
	for _, volume := range volumes {
		all.Go(func() { writeBack(volume) })
	}

	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()

	timer := time.NewTimer(settleTimeout)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	case <-timer.C:
	}

	var errs []error
	for _, session := range sessions {
		errs = append(errs, detach(session, unix.MNT_FORCE))
	}

	return errors.Join(errs...)
}

// writeBack writes what is cached of a volume. That it cannot is no matter to who ends it.
func writeBack(mount string) {
	dir, err := os.Open(mount)
	if err != nil {
		return
	}
	defer dir.Close()
	_ = unix.Syncfs(int(dir.Fd()))
}
