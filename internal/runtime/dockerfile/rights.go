package dockerfile

import (
	"archive/tar"
	"bufio"
	"context"
	"io/fs"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// rights are whose the files of a COPY or an ADD are in a stage for Linux, and what may be done with them.
type rights struct {
	uid, gid int
	// mode are the permissions, -1: the files' own; owned says that the owner was given.
	mode  int64
	owned bool
}

// readRights reads --chown and --chmod. On Windows they do nothing, which is said.
func (w *copying) readRights(ctx context.Context, chown, chmod string) error {
	w.rights.mode = -1
	if !w.linux {
		if chown != "" || chmod != "" {
			w.warn(w.command, "--chown and --chmod do nothing in an image for Windows: its files have the rights of C:\\")
		}
		return nil
	}

	if chmod != "" {
		const octal, bits = 8, 12
		mode, err := strconv.ParseUint(chmod, octal, bits)
		if err != nil {
			return refuse(errdefs.ErrInvalidArgument, "--chmod=%s: want permissions as 0755", chmod)
		}
		w.rights.mode = int64(mode)
	}

	if chown == "" {
		return nil
	}

	user, group, both := strings.Cut(chown, ":")
	var err error
	if w.rights.uid, err = w.id(ctx, "etc/passwd", user); err != nil {
		return err
	}
	w.rights.owned = true
	if !both {
		group = strconv.Itoa(w.rights.uid) // as in BuildKit
	}

	w.rights.gid, err = w.id(ctx, "etc/group", group)
	w.made.uid, w.made.gid = w.rights.uid, w.rights.gid
	return err
}

// id returns the number of a user or a group, which a file of the stage has behind its name and its password.
func (w *copying) id(ctx context.Context, file, name string) (int, error) {
	const bits = 31
	if id, err := strconv.ParseUint(name, 10, bits); err == nil {
		return int(id), nil
	}

	files, folder, err := w.tree.list(ctx, file)
	if err != nil || folder {
		return 0, refuse(errdefs.ErrNotFound, "--chown: the stage has no /%s that would say who %s is", file, name)
	}
	text, err := files[0].Open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = text.Close() }()

	for lines := bufio.NewScanner(text); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) < 3 || fields[0] != name {
			continue
		}
		id, err := strconv.ParseUint(fields[2], 10, bits)
		return int(id), err
	}

	return 0, refuse(errdefs.ErrNotFound, "--chown: /%s of the stage has no %s", file, name)
}

// of gives a file the rights: it is root's unless somebody else was named.
func (r rights) of(f imagebuild.File) imagebuild.File {
	f.UID, f.GID = r.uid, r.gid
	switch {
	case r.mode >= 0 && f.Kind != fs.ModeSymlink:
		f.Mode = r.mode
	case f.Mode != 0:
	case f.Kind == fs.ModeDir:
		f.Mode = folderMode
	default:
		f.Mode = fileMode
	}
	return f
}

// over gives a file of an archive the archive's own rights, where no others were named.
func (r rights) over(f imagebuild.File, header *tar.Header) imagebuild.File {
	f.Mode = header.Mode & permissionBits
	f = r.of(f)
	if !r.owned {
		f.UID, f.GID = header.Uid, header.Gid
	}
	return f
}
