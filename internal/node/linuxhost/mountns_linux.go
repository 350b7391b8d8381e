package linuxhost

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newMountNamespace moves the calling thread, which must be locked, into a new mount namespace that can be pinned in
// the one before.
//
// A mount namespace can be bound only into one with a lower ID, so that none holds itself (mnt_ns_loop in Linux'
// fs/namespace.c). Linux 6.18 gives each processor a stock of IDs of its own, so a newer namespace can have the lower
// ID. The machine's first namespace has the lowest of all. In any other, a container's for example, the thread goes
// from processor to processor until one gives a higher ID.
func newMountNamespace() error {
	before, err := mountNamespaceID()
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}

	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return fmt.Errorf("list processors: %w", err)
	}

	for cpu, tried := 0, 0; ; cpu++ {
		after, err := mountNamespaceID()
		if err != nil || after > before || after == 0 {
			return errors.Join(err, unix.SchedSetaffinity(0, &all))
		}
		for !all.IsSet(cpu) && tried < all.Count() {
			cpu++
		}

		if tried++; tried > all.Count() {
			return fmt.Errorf(
				"no processor of this machine makes one that mount namespace %d can hold (as Linux 6.18 numbers them); start from the machine's first mount namespace: %w", before, unix.EINVAL)
		}
		var one unix.CPUSet
		one.Set(cpu)
		if err := errors.Join(unix.SchedSetaffinity(0, &one), unix.Unshare(unix.CLONE_NEWNS)); err != nil {
			return fmt.Errorf("on processor %d: %w", cpu, err)
		}
	}
}

// mountNamespaceID returns the ID of the calling thread's mount namespace. It is 0 before Linux 6.9, which does not
// tell IDs and gives them in order.
func mountNamespaceID() (uint64, error) {
	f, err := os.Open("/proc/thread-self/ns/mnt")
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()

	var id uint64
	switch _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.NS_GET_MNTNS_ID,
		uintptr(unsafe.Pointer(&id))); errno {
	case 0:
		return id, nil
	case unix.ENOTTY, unix.EINVAL:
		return 0, nil
	default:
		return 0, fmt.Errorf("ask for the number of the mount namespace: %w", errno)
	}
}
