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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/windows/wine"
)

// Changes are what a container has changed.
type Changes struct {
	// Upper is the upper folder of the container's overlay. The container has ended.
	Upper string
	// Registry is what has become of the registry.
	Registry wine.RegistryChanges
	// Mounted are the names on the drive at which something was mounted, with slashes. The empty files and folders
	// there are only the places of the mounts.
	Mounted []string
	// Created is the time of all files in the layer.
	Created time.Time
}

// WriteLayer writes the changes as a layer of a Windows image, a tar archive that is not compressed.
func (c Changes) WriteLayer(ctx context.Context, w io.Writer) error {
	root, err := os.OpenRoot(c.Upper)
	if err != nil {
		return fmt.Errorf("read what the container has written: %w", err)
	}
	defer func() { _ = root.Close() }()
	files, err := c.files(ctx, root)
	if err != nil {
		return fmt.Errorf("read what the container has written: %w", err)
	}

	hives, err := c.Registry.Hives()
	if err != nil {
		return fmt.Errorf("read the container's registry: %w", err)
	}
	own, err := c.userSettings()
	if err != nil {
		return fmt.Errorf("read the container's registry: %w", err)
	}

	return imagebuild.WriteWindowsLayer(ctx, w, append(files, own...), hives, c.Created)
}

// userSettings returns the file of the user's settings, if the container has changed them, and the folders that lead to
// it.
func (c Changes) userSettings() ([]imagebuild.File, error) {
	name, hive, err := c.Registry.UserSettings()
	if err != nil || hive == nil {
		return nil, err
	}
	profile := path.Dir(name)
	return []imagebuild.File{
		{Name: path.Dir(profile), Kind: fs.ModeDir},
		{Name: profile, Kind: fs.ModeDir},
		{Name: name, Data: hive, Size: int64(len(hive))},
	}, nil
}

// files lists what was written to the drive. The drive itself is the programs' work too: a link in its place leads to
// files of the machine.
func (c Changes) files(ctx context.Context, root *os.Root) ([]imagebuild.File, error) {
	switch info, err := root.Lstat(engine.Drive); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil // nothing was written to C:
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("the container has put something else in the place of its drive: %w",
			errdefs.ErrInvalidArgument)
	}

	if hides, err := isOpaque(root, engine.Drive); err != nil || hides {
		return nil, errors.Join(err, fmt.Errorf("the container has removed its drive and made it again: %w",
			errdefs.ErrInvalidArgument))
	}

	var files []imagebuild.File
	size := int64(0)
	err := fs.WalkDir(root.FS(), engine.Drive, func(at string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || at == engine.Drive {
			return err
		}

		found, err := c.file(root, at, d)
		for _, f := range found {
			size += f.Size
		}

		files = append(files, found...)
		if len(files) > imagebuild.MostFiles || size > imagebuild.MostBytes {
			return fmt.Errorf("it is more than %d files or %d GiB: %w", imagebuild.MostFiles, imagebuild.MostBytes>>30,
				errdefs.ErrInvalidArgument)
		}
		return err
	})

	return files, err
}

// file returns what an entry of the drive is in a layer.
func (c Changes) file(root *os.Root, at string, d fs.DirEntry) ([]imagebuild.File, error) {
	name := strings.TrimPrefix(at, engine.Drive+"/")
	base := path.Base(name)
	if err := imagebuild.CheckName(base); err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	info, err := d.Info()
	if err != nil {
		return nil, err
	}

	if place, err := c.isPlace(root, at, name, info); place || err != nil {
		return nil, err
	}

	switch kind := info.Mode().Type(); {
	case engine.IsWhiteout(info):
		return []imagebuild.File{{Name: path.Join(path.Dir(name), imagebuild.Whiteout+base)}}, nil
	case kind == fs.ModeDir:
		found := []imagebuild.File{{Name: name, Kind: fs.ModeDir}}
		hides, err := isOpaque(root, at)
		if hides {
			found = append(found, imagebuild.File{Name: path.Join(name, imagebuild.OpaqueWhiteout)})
		}
		return found, err

	case kind == fs.ModeSymlink:
		return link(root, at, name)
	case kind == 0:
		return []imagebuild.File{{
			Name:     name,
			In:       root,
			Source:   at,
			Size:     info.Size(),
			ReadOnly: info.Mode().Perm()&0o222 == 0,
		}}, nil
	}

	return nil, fmt.Errorf("%q is neither a file, a folder nor a link: %w", name, errdefs.ErrInvalidArgument)
}

// isPlace reports whether an entry is only the place of a mount.
func (c Changes) isPlace(root *os.Root, at, name string, info fs.FileInfo) (bool, error) {
	if !slices.ContainsFunc(c.Mounted, func(m string) bool { return strings.EqualFold(m, name) }) {
		return false, nil
	}
	if !info.IsDir() {
		return info.Mode().IsRegular() && info.Size() == 0, nil
	}

	folder, err := root.Open(at)
	if err != nil {
		return false, err
	}
	defer func() { _ = folder.Close() }()
	_, err = folder.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}

	return false, err
}

// link returns a symbolic link, which has to lead to something on the drive by a relative path.
func link(root *os.Root, at, name string) ([]imagebuild.File, error) {
	to, err := root.Readlink(at)
	if err != nil {
		return nil, err
	}
	folder := strings.HasSuffix(to, "/")
	to = onDrive(name, to)
	end := path.Join(path.Dir(name), to)
	if path.IsAbs(to) || end == ".." || strings.HasPrefix(end, "../") {
		return nil, fmt.Errorf("%q is a link to %q, which an image cannot hold: %w", name, to, errdefs.ErrInvalidArgument)
	}

	info, err := root.Stat(at)
	return []imagebuild.File{{
		Name:  name,
		Kind:  fs.ModeSymlink,
		Link:  to,
		ToDir: folder || (err == nil && info.IsDir()),
	}}, nil
}

// onDrive returns the target of a link as a path from the link's folder, with names as they are on disk.
func onDrive(name, to string) string {
	if onC, ok := wine.LinkOnC(to); ok {
		if relative, err := filepath.Rel("/"+path.Dir(name), path.Clean("/"+onC)); err == nil {
			return relative
		}
	}
	return to
}

// isOpaque reports whether a folder hides what is in those below it.
func isOpaque(root *os.Root, name string) (bool, error) {
	folder, err := root.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = folder.Close() }()
	return engine.IsOpaque(folder), nil
}
