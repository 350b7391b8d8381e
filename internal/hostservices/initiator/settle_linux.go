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

// Settle writes the cached data of all volumes below dir to their targets, so that their users and keepers can be ended
// without a loss. If a target does not take it in time, its disks are detached, and whatever waits for them gets
// errors.
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

// writeBack writes the cached data of a volume. Errors are ignored: the host is going away.
func writeBack(mount string) {
	dir, err := os.Open(mount)
	if err != nil {
		return
	}
	defer dir.Close()
	_ = unix.Syncfs(int(dir.Fd()))
}
