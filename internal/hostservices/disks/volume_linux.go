package disks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// mark is the name that the file systems of this package have for Linux, by which they are known. labelAttribute of a
// volume's root has the label that programs see.
const (
	mark           = "mullion-ntfs"
	labelAttribute = "trusted.mullion.label"
)

// NTFS is what a volume's file system is for programs.
const NTFS = "NTFS"

// Times: how long a tool for file systems may run, and how long a volume may take to be free.
const (
	toolTimeout = 5 * time.Minute
	freePause   = 2 * time.Second
)

// volume is the place of a partition's volume.
type volume struct {
	disk  *os.File
	part  hostdisk.Part
	mount string
	// readOnly is the disk's.
	readOnly bool
	// remote says that another machine has the disk's bytes.
	remote bool
}

func (v volume) extent() extent {
	return extent{
		offset:   v.part.Offset,
		size:     v.part.Size,
		readOnly: v.readOnly,
	}
}

// superName is where XFS' superblock, which begins with XFSB, has the file system's name, of 12 bytes
// (https://git.kernel.org/pub/scm/fs/xfs/xfs-documentation.git, "Superblocks").
const superName = 108

// ours reports whether the partition has a file system of this package.
func (v volume) ours() (bool, error) {
	head := make([]byte, sector)
	if _, err := v.disk.ReadAt(head, v.part.Offset); err != nil {
		return false, fmt.Errorf("read the file system: %w", err)
	}
	return string(head[:4]) == "XFSB" && string(head[superName:superName+len(mark)]) == mark, nil
}

// probeID is the user and the group of what reads the bytes of another machine; nothing else uses it.
const probeID = 65530

// foreign returns the file system that another system has made, by blkid's name; empty: none that is known. What reads
// another machine's bytes is a user without rights.
func (v volume) foreign(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()

	cmd := exec.CommandContext(ctx, "blkid", "-p", "-o", "value", "-s", "TYPE",
		"-O", fmt.Sprint(v.part.Offset), "-S", fmt.Sprint(v.part.Size), "/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{v.disk}
	var said bytes.Buffer
	cmd.Stdout = &said
	err := netns.OnThread(func() error { // which serves the child alone
		if v.remote {
			// What keeps the disk lets each user open its file.
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: probeID, Gid: probeID}}
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				return err
			}
		}
		return cmd.Run()
	})

	const nothing = 2 // and also what is ambivalent, as its manual says
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == nothing {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for a file system with blkid: %w", err)
	}

	return strings.TrimSpace(said.String()), nil
}

// maker is the tool that formats volumes.
const maker = "mkfs.xfs"

// missing returns the error of a tool for file systems that the machine does not have.
func missing(err error) error { return fmt.Errorf("%w (Debian's package xfsprogs has it)", err) }

// run runs a tool for file systems.
func run(ctx context.Context, tool string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, tool, args...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return missing(err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", tool, err, bytes.TrimSpace(out))
	}
	return nil
}

// mounted reports whether the volume is mounted.
func (v volume) mounted() (bool, error) {
	var here, above unix.Stat_t
	if err := unix.Stat(v.mount, &here); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return false, nil
		}
		return false, fmt.Errorf("look at the volume's mount: %w", err)
	}
	if err := unix.Stat(filepath.Dir(v.mount), &above); err != nil {
		return false, err
	}
	return here.Dev != above.Dev, nil
}

// live reports whether the mounted volume is still of this disk. If a remote disk has come back meanwhile, it unmounts
// the old one.
func (v volume) live() (bool, error) {
	device, err := attached(v.disk, v.part.Offset)
	if err != nil {
		return false, err
	}
	if device != nil {
		return true, device.Close()
	}
	return false, unix.Unmount(v.mount, unix.MNT_DETACH)
}

// open mounts the volume if it is not mounted.
func (v volume) open() error {
	there, err := v.mounted()
	if err == nil && there {
		there, err = v.live()
	}
	if err != nil || there {
		return err
	}

	device, err := attach(v.disk, v.extent())
	if err != nil {
		return err
	}
	defer device.Close()
	if err := os.Mkdir(v.mount, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}

	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if v.readOnly {
		flags |= unix.MS_RDONLY
	}

	// discard: deleted data leaves the file. nouuid: a copy of a disk may be there too.
	err = unix.Mount(device.Name(), v.mount, "xfs", flags, "discard,nouuid")
	if err != nil {
		return errors.Join(fmt.Errorf("mount the volume %s: %w", v.part.GUID, err), os.Remove(v.mount))
	}

	return nil
}

// close unmounts the volume; ErrInUse: a program or a container has it.
func (v volume) close() error {
	there, err := v.mounted()
	if err != nil {
		return err
	}

	if there {
		err := unix.Unmount(v.mount, 0)
		if errors.Is(err, unix.EBUSY) {
			return ErrInUse
		}
		if err != nil {
			return fmt.Errorf("unmount the volume %s: %w", v.part.GUID, err)
		}
	}

	free, err := freed(v.disk, v.part.Offset, freePause)
	if err != nil {
		return err
	}
	if !free {
		return errors.Join(ErrInUse, v.open())
	}

	// Without its folder, links to it lead nowhere.
	if err := os.Remove(v.mount); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	return nil
}

// format makes a file system, and mounts it.
func (v volume) format(ctx context.Context, label string) error {
	if err := v.close(); err != nil {
		return err
	}
	device, err := attach(v.disk, v.extent())
	if err != nil {
		return err
	}
	defer device.Close()

	if err := run(ctx, maker, "-q", "-f", "-L", mark, device.Name()); err != nil {
		return err
	}
	if err := v.open(); err != nil {
		return err
	}

	root, err := os.OpenRoot(v.mount)
	if err != nil {
		return err
	}
	defer root.Close()

	// Everybody may write there, as on a volume that Windows has formatted.
	return errors.Join(root.Chmod(".", 0o777), v.setLabel(label))
}

func (v volume) setLabel(label string) error {
	if err := unix.Setxattr(v.mount, labelAttribute, []byte(label), 0); err != nil {
		return fmt.Errorf("set the volume's label: %w", err)
	}
	return nil
}

// grow makes the file system as large as the partition, while it is used.
func (v volume) grow(ctx context.Context) error {
	device, err := attach(v.disk, v.extent())
	if err != nil {
		return err
	}
	defer device.Close()
	if err := extend(device, v.part.Size); err != nil {
		return fmt.Errorf("extend the volume's device: %w", err)
	}
	return run(ctx, "xfs_growfs", v.mount)
}

// flush writes what is cached to the disk.
func (v volume) flush() error {
	dir, err := os.Open(v.mount)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("write the volume's cache: %w", err)
	}
	return v.disk.Sync()
}

// figures fills in what is known of a mounted volume.
func (v volume) figures(p *hostdisk.Part) error {
	var st unix.Statfs_t
	if err := unix.Statfs(v.mount, &st); err != nil {
		return fmt.Errorf("look at the volume: %w", err)
	}
	p.FileSystem = NTFS
	p.VolumeSize, p.Free = int64(st.Blocks)*st.Bsize, int64(st.Bavail)*st.Bsize // sizes of a disk
	label := make([]byte, 256)
	if n, err := unix.Getxattr(v.mount, labelAttribute, label); err == nil {
		p.Label = string(label[:n])
	}
	return nil
}
