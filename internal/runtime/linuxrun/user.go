package linuxrun

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/moby/sys/user"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// mostOfUsers bounds a list of users or groups, in bytes.
const mostOfUsers = 1 << 20

// userOf finds a user, as USER names it, in the files of a container.
func userOf(ctx context.Context, files []mount.Mount, named string) (who *specs.User, err error) {
	err = inside(ctx, files, func(name string) error {
		root, err := os.OpenRoot(name)
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()

		passwd, err := openList(root, "etc/passwd")
		if err != nil {
			return err
		}
		defer func() { _ = passwd.Close() }()
		group, err := openList(root, "etc/group")
		if err != nil {
			return err
		}

		defer func() { _ = group.Close() }()

		found, err := user.GetExecUser(cmp.Or(named, "0"), nil, io.LimitReader(passwd, mostOfUsers),
			io.LimitReader(group, mostOfUsers))
		if err != nil {
			return err
		}
		who = &specs.User{UID: uint32(found.Uid), GID: uint32(found.Gid)}
		for _, id := range found.Sgids {
			who.AdditionalGids = append(who.AdditionalGids, uint32(id))
		}

		return nil
	})

	return who, err
}

// openList opens a list, which may not be there. No link leads out of the container's files, and nothing else than a
// regular file is read.
func openList(root *os.Root, name string) (io.ReadCloser, error) {
	info, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !info.Mode().IsRegular()) {
		return os.Open(os.DevNull)
	}
	if err != nil {
		return nil, err
	}
	return root.Open(name)
}
