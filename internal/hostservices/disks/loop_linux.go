package disks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// loopTries bounds how often a free loop device is asked for, which somebody else may take first.
const loopTries = 50

// extent is a part of a disk's file.
type extent struct {
	offset, size int64
	readOnly     bool
}

// attach returns the loop device of a part of a file. It uses the existing device, because two devices would be two
// file systems on the same bytes, or makes one. The kernel frees the device with its last user: the returned file, or a
// mount.
func attach(file *os.File, e extent) (*os.File, error) {
	device, err := attached(file, e.offset)
	if err != nil || device != nil {
		return device, err
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("make a loop device, which the machine's kernel has to have: %w", err)
	}
	defer control.Close()

	config := unix.LoopConfig{Fd: uint32(file.Fd())} // a descriptor
	config.Info = unix.LoopInfo64{
		Offset:    uint64(e.offset), // within the file
		Sizelimit: uint64(e.size),   // within the file
		Flags:     unix.LO_FLAGS_AUTOCLEAR,
	}

	mode := os.O_RDWR
	if e.readOnly {
		config.Info.Flags |= unix.LO_FLAGS_READ_ONLY
		mode = os.O_RDONLY
	}

	for range loopTries {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a free loop device: %w", err)
		}
		device, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), mode, 0)
		if err != nil {
			return nil, err
		}

		err = unix.IoctlLoopConfigure(int(device.Fd()), &config)
		if err == nil {
			return device, nil
		}
		_ = device.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("attach %q to %q: %w", file.Name(), device.Name(), err)
		}
	}

	return nil, errors.New("find a free loop device: others take each at once")
}

// attached returns the loop device of a part of a file, nil without one.
func attached(file *os.File, offset int64) (*os.File, error) {
	var want unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &want); err != nil {
		return nil, err
	}
	known, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, err
	}

	for _, k := range known {
		device, err := os.OpenFile(filepath.Join("/dev", filepath.Base(filepath.Dir(filepath.Dir(k)))), os.O_RDONLY, 0)
		if err != nil {
			continue // it is gone
		}
		info, err := unix.IoctlLoopGetStatus64(int(device.Fd()))
		// Within the file.
		if err == nil && info.Device == want.Dev && info.Inode == want.Ino && info.Offset == uint64(offset) {
			return device, nil
		}

		_ = device.Close()
	}

	return nil, nil // there is none
}

// extend tells a loop device that its part of the file is larger.
func extend(device *os.File, size int64) error {
	info, err := unix.IoctlLoopGetStatus64(int(device.Fd()))
	if err != nil {
		return err
	}
	info.Sizelimit = uint64(size) // within the file
	return unix.IoctlLoopSetStatus64(int(device.Fd()), info)
}

// freed waits until nobody holds the loop device of a part of a file, which is a moment after the last mount is gone.
func freed(file *os.File, offset int64, patience time.Duration) (bool, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()

	for deadline := time.Now().Add(patience); ; <-tick.C {
		device, err := attached(file, offset)
		if err != nil || device == nil {
			return err == nil, err
		}
		if err := device.Close(); err != nil {
			return false, err
		}

		if time.Now().After(deadline) {
			return false, nil
		}
	}
}
