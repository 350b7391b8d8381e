package smb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	smb2 "github.com/cloudsoda/go-smb2"
	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/windows/smbmapping"
)

// KeepCommand is the first argument of a process that keeps a mapping. The second names its mount point, which says to
// whom the process belongs.
const KeepCommand = "keep-share"

// folderFD is the descriptor of the folder that the share is mounted over.
const folderFD = 3

// fsType is what the kernel says that the mounts are.
const fsType = "fuse.smb"

// Keep is a process that keeps a mapping. It reads the Target from in, connects, mounts the share over the folder that
// it has as descriptor 3, and answers on out. Then it serves the share until it is unmounted everywhere.
func Keep(ctx context.Context, in io.Reader, out io.Writer) error {
	var target Target
	if err := json.NewDecoder(in).Decode(&target); err != nil {
		return fmt.Errorf("read what to connect to: %w", err)
	}
	server, err := serve(ctx, target)
	answer := smbmapping.Answer{}
	if err != nil {
		answer.Error, answer.Code = words(err)
	}
	if err := errors.Join(err, json.NewEncoder(out).Encode(answer)); err != nil {
		return err
	}
	server.Wait()
	return nil
}

// serve connects and mounts.
func serve(ctx context.Context, target Target) (*fuse.Server, error) {
	s := &share{target: target}
	if _, _, err := s.connection(ctx); err != nil {
		return nil, target.errorf(err)
	}
	device, err := mountShare(`\\` + target.Server + `\` + target.Share)
	if err != nil {
		return nil, fmt.Errorf("mount the share: %w", err)
	}
	timeout := cached
	return fs.Mount("/dev/fd/"+strconv.Itoa(device), &node{share: s}, &fs.Options{
		EntryTimeout: &timeout,
		AttrTimeout:  &timeout,
		MountOptions: fuse.MountOptions{
			MaxWrite:           1 << 20,
			DisableXAttrs:      true,
			DisableReadDirPlus: true, // asks the server for each entry once more
			Name:               "smb",
		},
	})
}

// mountShare mounts a file system over the folder, by no path, since a host's programs can change every path, and
// returns the descriptor by which it is served.
func mountShare(source string) (device int, err error) {
	device, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: "/dev/fuse", Err: err}
	}
	defer func() {
		if err != nil {
			_ = unix.Close(device)
		}
	}()
	made, err := unix.Fsopen("fuse", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(made)
	for _, o := range [][2]string{
		{"source", source}, {"subtype", "smb"}, {"fd", strconv.Itoa(device)}, {"rootmode", "40000"},
		{"user_id", "0"}, {"group_id", "0"},
	} {
		if err := unix.FsconfigSetString(made, o[0], o[1]); err != nil {
			return -1, fmt.Errorf("set %s: %w", o[0], err)
		}
	}
	if err := errors.Join(unix.FsconfigSetFlag(made, "allow_other"), unix.FsconfigCreate(made)); err != nil {
		return -1, err
	}
	mount, err := unix.Fsmount(made, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return -1, err
	}
	defer unix.Close(mount)
	return device, unix.MoveMount(mount, "", folderFD, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// words are Windows' words and number for why a server cannot be used
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes).
func words(err error) (string, uint32) {
	var response *smb2.ResponseError
	var transport *smb2.TransportError
	var dns *net.DNSError
	switch {
	case errors.Is(err, ErrNotEncrypted):
		return "Access is denied: " + ErrNotEncrypted.Error(), 5
	case errors.As(err, &response) && response.Code == statusLogonFailure:
		return "The user name or password is incorrect.", 1326
	case errors.As(err, &response) && response.Code == statusBadNetworkName:
		return "The network name cannot be found.", 67
	case errors.Is(err, os.ErrPermission):
		return "Access is denied.", 5
	case errors.As(err, &dns) || errors.As(err, &transport) || errors.Is(err, context.DeadlineExceeded):
		return "The network path was not found: " + err.Error(), 53
	}
	return err.Error(), 59 // ERROR_UNEXP_NET_ERR
}
