// Package commit makes a layer of a Windows image of what a container has changed on its drive and in its registry.
//
// The changes of the drive are the upper folder of the container's overlay: its whiteouts and opaque folders become
// those of a layer. The changes of the registry are the difference of two texts of Wine's, before and after, and become
// Windows' hives. Programs of the container wrote all of it, so nothing in it is believed, and no link is followed.
//
// It does not own the form of a layer (package imagebuild), nor which keys of the registry are an image's to change
// (package wine).
package commit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/windows/wine"
)

// Registry are the files of a container's registry by their names (wine.MachineHive and the others).
type Registry map[string]string

// Changes are what a container has changed.
type Changes struct {
	// Drive is the folder on this machine with what was written to C:, the upper one of an overlay. The container has
	// ended.
	Drive string
	// Before is the registry with which the container began, After that with which it ended, System that of Windows
	// itself.
	Before, After, System Registry
	// User is the Windows user of the container's programs.
	User string
	// Created is the time of all files in the layer.
	Created time.Time
}

// userHive is the file of a user's own settings in the user's profile.
const userHive = "NTUSER.DAT"

// WriteLayer writes the changes as a layer of a Windows image, a tar archive that is not compressed.
func (c Changes) WriteLayer(ctx context.Context, w io.Writer) error {
	files, err := c.files(ctx)
	if err != nil {
		return fmt.Errorf("read what the container has written: %w", err)
	}

	hives := map[string][]byte{}
	for _, h := range wine.LayerHives() {
		hive, err := h.Write(c.Before[h.Hive], c.After[h.Hive])
		if err != nil {
			return fmt.Errorf("read the container's registry: %w", err)
		}
		if hive != nil {
			hives[h.Name] = hive
		}
	}

	own, err := c.userSettings()
	if err != nil {
		return fmt.Errorf("read the container's registry: %w", err)
	}
	return imagebuild.WriteWindowsLayer(ctx, w, append(files, own...), hives, c.Created)
}

// userSettings returns the file of the user's settings, if the container has changed them, and the folders that lead to
// it. It hides the one in a layer below, so it has all that is not as Windows has it.
func (c Changes) userSettings() ([]imagebuild.File, error) {
	before, after := c.Before[wine.UserHive], c.After[wine.UserHive]
	if changed, err := wine.WriteUser(before, after); err != nil || changed == nil {
		return nil, err
	}
	hive, err := wine.WriteUser(c.System[wine.UserHive], after)
	if err != nil || hive == nil {
		return nil, err
	}

	profile := path.Join("users", c.User)
	return []imagebuild.File{
		{Name: "users", Kind: fs.ModeDir},
		{Name: profile, Kind: fs.ModeDir},
		{Name: path.Join(profile, userHive), Data: hive, Size: int64(len(hive))},
	}, nil
}

// Names of an image's layer that say what is deleted
// (https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md#whiteouts).
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

// files lists what was written to the drive.
func (c Changes) files(ctx context.Context) ([]imagebuild.File, error) {
	root, err := os.OpenRoot(c.Drive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was written to C:
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()

	var files []imagebuild.File
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || name == "." {
			return err
		}

		if passing(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		found, err := c.file(root, name, d)
		files = append(files, found...)
		return err
	})

	return files, err
}

// passing reports whether a file is gone with a container's programs: what they write for themselves while they run is
// no part of an image.
func passing(name string) bool {
	parts := strings.Split(strings.ToLower(name), "/")
	switch {
	case len(parts) == 2:
		return parts[0] == "windows" && parts[1] == "temp"
	case len(parts) == 3:
		return parts[0] == "users" && parts[2] == "temp"
	case len(parts) == 5:
		return parts[0] == "users" && parts[2] == "appdata" && parts[3] == "local" && parts[4] == "temp"
	}
	return false
}

// file returns what an entry of the drive is in a layer.
func (c Changes) file(root *os.Root, name string, d fs.DirEntry) ([]imagebuild.File, error) {
	base := path.Base(name)
	if err := imagebuild.CheckName(base); err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	info, err := d.Info()
	if err != nil {
		return nil, err
	}

	switch kind := info.Mode().Type(); {
	case isWhiteout(info):
		return []imagebuild.File{{Name: path.Join(path.Dir(name), whiteout+base)}}, nil
	case kind == fs.ModeDir:
		found := []imagebuild.File{{Name: name, Kind: fs.ModeDir}}
		if isOpaque(path.Join(c.Drive, name)) {
			found = append(found, imagebuild.File{Name: path.Join(name, opaque)})
		}
		return found, nil
	case kind == fs.ModeSymlink:
		return link(root, name)
	case kind == 0:
		return []imagebuild.File{{
			Name:     name,
			Source:   path.Join(c.Drive, name),
			Size:     info.Size(),
			ReadOnly: info.Mode().Perm()&0o222 == 0,
		}}, nil
	}

	return nil, fmt.Errorf("%q is neither a file, a folder nor a link: %w", name, errdefs.ErrInvalidArgument)
}

// link returns a symbolic link, which has to lead to something on the drive by a relative path.
func link(root *os.Root, name string) ([]imagebuild.File, error) {
	to, err := root.Readlink(name)
	if err != nil {
		return nil, err
	}
	end := path.Join(path.Dir(name), to)
	if path.IsAbs(to) || end == ".." || strings.HasPrefix(end, "../") {
		return nil, fmt.Errorf("%q is a link to %q, which an image cannot hold: %w", name, to, errdefs.ErrInvalidArgument)
	}

	info, err := root.Stat(name)
	return []imagebuild.File{{
		Name:  name,
		Kind:  fs.ModeSymlink,
		Link:  to,
		ToDir: err == nil && info.IsDir(),
	}}, nil
}

// isWhiteout reports whether an entry hides what is below it: a character device 0/0
// (https://docs.kernel.org/filesystems/overlayfs.html#whiteouts-and-opaque-directories).
func isWhiteout(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && stat.Rdev == 0
}

// isOpaque reports whether a folder hides what is in those below it.
func isOpaque(dir string) bool {
	var value [1]byte
	n, err := unix.Lgetxattr(dir, "trusted.overlay.opaque", value[:])
	return err == nil && n == 1 && value[0] == 'y'
}
