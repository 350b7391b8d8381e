package dockerfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"mullion.dev/mullion/internal/runtime/buildcache"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// mount is a --mount of a RUN. Its files are copies, so that a program has nothing of the machine's own: what it writes
// there is gone afterwards, but for that of a cache.
type mount struct {
	kind instructions.MountType
	// target is a Windows path; "" of a secret that is a variable alone.
	target   string
	readOnly bool
	// id is that of a cache or a secret, alone that no other build may use the cache meanwhile.
	id    string
	alone bool
	// files are those of a bind: one whose name is "", or what is in a folder.
	files []imagebuild.File
	// secret is a secret's value, variable its name in the environment.
	secret   []byte
	variable string
}

// mounts reads the mounts of a command.
func (s *stage) mounts(ctx context.Context, number int, c *instructions.RunCommand) ([]mount, error) {
	var all []mount
	for _, m := range instructions.GetMounts(c) {
		made, err := s.mount(ctx, number, c, m)
		if err != nil {
			return nil, fmt.Errorf("--mount=type=%s: %w", m.Type, err)
		}
		if made == nil {
			continue
		}

		same := func(o mount) bool { return o.target != "" && strings.EqualFold(o.target, made.target) }
		if slices.ContainsFunc(all, same) {
			return nil, refuse(errdefs.ErrInvalidArgument, "two mounts have the target %s", made.target)
		}
		all = append(all, *made)
	}

	return all, nil
}

// mount reads a mount; nil: there is nothing to mount.
func (s *stage) mount(
	ctx context.Context, number int, c *instructions.RunCommand, m *instructions.Mount,
) (*mount, error) {
	if m.Mode != nil || m.UID != nil || m.GID != nil {
		s.warn(c, "mode, uid and gid of --mount do nothing: a container for Windows has no such rights")
	}
	made := &mount{kind: m.Type, readOnly: m.ReadOnly}
	if m.Type == instructions.MountTypeSecret {
		return s.secretMount(c, m, made)
	}

	at, err := s.path(m.Target)
	if err != nil {
		return nil, err
	}
	if m.Target == "" || at == "" {
		return nil, refuse(errdefs.ErrInvalidArgument, "it wants a target that is a folder of %s", s.tree.shown(""))
	}
	made.target = s.tree.shown(at)

	switch m.Type {
	case instructions.MountTypeCache:
		return s.cacheMount(m, made, at)
	case instructions.MountTypeTmpfs:
		if m.SizeLimit != 0 {
			s.warn(c, "size of --mount does nothing: it is a folder of the disk, which is empty and removed afterwards")
		}
		return made, nil
	case instructions.MountTypeBind:
		made.files, err = s.bound(ctx, number, m)
		return made, err
	}

	return nil, refuse(errdefs.ErrNotImplemented, "it is not carried out here")
}

// cacheMount reads the mount of a cache at a name of the tree.
func (s *stage) cacheMount(m *instructions.Mount, made *mount, at string) (*mount, error) {
	if m.From != "" || m.Source != "" {
		return nil, refuse(errdefs.ErrNotImplemented, "a cache begins empty here: leave out from and source")
	}
	made.id = cmp.Or(m.CacheID, s.tree.key(at))
	if s.linux { // its files have other users
		made.id = fmt.Sprintf("linux:%d:%s", s.LinuxOwner, made.id)
	}

	made.alone = m.CacheSharing == instructions.MountSharingLocked ||
		m.CacheSharing == instructions.MountSharingPrivate
	return made, nil
}

// secretMount reads the mount of a secret.
func (s *stage) secretMount(c *instructions.RunCommand, m *instructions.Mount, made *mount) (*mount, error) {
	made.id = m.CacheID
	if m.Source != "" {
		made.id = m.Source
	}
	if made.id == "" {
		made.id = path.Base(strings.ReplaceAll(m.Target, `\`, "/"))
	}

	value, ok := s.Secrets[made.id]
	if !ok && m.Required {
		return nil, refuse(errdefs.ErrNotFound, "the secret %s is required: give it by --secret id=%s,src=FILE", made.id,
			made.id)
	}
	if !ok {
		s.warn(c, "the secret %s is not given, so nothing is mounted: --secret id=%s,src=FILE gives it", made.id, made.id)
		return nil, nil //nolint:nilnil // there is nothing to mount
	}

	made.secret = value

	if m.Env != nil {
		if made.variable = *m.Env; made.variable == "" {
			made.variable = made.id
		}
		if strings.ContainsAny(made.variable, "=\x00") || strings.ContainsRune(string(value), 0) {
			return nil, refuse(errdefs.ErrInvalidArgument, "the secret %s cannot be the variable %q", made.id, made.variable)
		}
		if m.Target == "" {
			return made, nil
		}
	}

	target := m.Target
	if target == "" {
		target = "/run/secrets/" + path.Base(strings.ReplaceAll(made.id, `\`, "/"))
	}
	at, err := s.path(target)
	if err != nil {
		return nil, err
	}

	if at == "" {
		return nil, refuse(errdefs.ErrInvalidArgument, "it wants a target that is a file on %s", s.tree.shown(""))
	}
	made.target = s.tree.shown(at)
	return made, nil
}

// bound finds the files of a bind, in the folder, a stage or an image.
func (s *stage) bound(ctx context.Context, number int, m *instructions.Mount) ([]imagebuild.File, error) {
	from, _, err := s.source(ctx, number, m.From)
	if err != nil {
		return nil, err
	}

	name, err := nameIn(from, m.Source)
	if err != nil {
		return nil, err
	}
	files, folder, err := from.list(ctx, name)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !folder && len(files) == 0) {
		return nil, refuse(errdefs.ErrNotFound, "%q is not there, or .dockerignore leaves it out", m.Source)
	}
	if err != nil {
		return nil, err
	}

	for i := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// Alone it would be mounted, and a link of an image leads to what is there on this machine.
		if files[i].Name == "" && files[i].Kind != 0 {
			return nil, refuse(errdefs.ErrNotImplemented, "%q is a link: name what it leads to", m.Source)
		}

		if err := files[i].SumUp(); err != nil {
			return nil, err
		}
	}

	return files, nil
}

// nameIn returns the name that a bind's source has where it comes from.
func nameIn(from source, text string) (string, error) {
	t, ok := from.(tree)
	switch {
	case !ok:
		return inFolder(text), nil
	case t.exact:
		return strings.TrimPrefix(path.Clean("/"+text), "/"), nil
	}
	return onDrive("", text)
}

// addTo adds the mount to the key of its command.
func (m mount) addTo(key buildcache.Key) {
	key.Add("mount", string(m.kind), m.target, strconv.FormatBool(m.readOnly), m.id, m.variable, strconv.Itoa(len(m.files)))
	for i := range m.files {
		f := m.files[i]
		key.Add(f.Name, f.Kind.String(), f.Link, strconv.FormatBool(f.ReadOnly), string(f.Sum))
	}
}

// hold waits until no other build uses the caches that a command wants alone, and holds them until release is called.
// Each is held once, and all builds hold them in one order, so none waits for itself or for one that waits for it.
func (b *builder) hold(ctx context.Context, mounts []mount) (release func(), err error) {
	var ids []string
	for i := range mounts {
		if mounts[i].alone {
			ids = append(ids, mounts[i].id)
		}
	}

	slices.Sort(ids)

	var held []func()
	release = func() {
		for _, one := range held {
			one()
		}
	}

	for _, id := range slices.Compact(ids) {
		one, err := b.Cache.HoldFolder(ctx, id)
		if err != nil {
			release()
			return nil, fmt.Errorf("wait for the cache %s: %w", id, err)
		}
		held = append(held, one)
	}

	return release, nil
}

// prepare makes what a command mounts, and adds it to what is asked for. undo removes it, and may be nil.
func (m mount) prepare(ctx context.Context, b *builder, ask *Command) (undo func(), err error) {
	add := func(source string) {
		ask.Mounts = append(ask.Mounts, Mount{
			Source:   source,
			Target:   m.target,
			ReadOnly: m.readOnly,
		})
	}

	switch m.kind {
	case instructions.MountTypeCache:
		source, err := b.Cache.Folder(m.id)
		add(source)
		if err == nil && ask.Linux != nil { // what is in it other commands have made, and may change now
			err = os.Lchown(source, b.LinuxOwner, b.LinuxOwner)
		}
		return nil, err

	case instructions.MountTypeSecret:
		if m.variable != "" {
			ask.Env = append(ask.Env, m.variable+"="+string(m.secret))
		}
		if m.target == "" {
			return nil, nil
		}

		dir, remove, err := b.Cache.SecretFolder()
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, "secret")
		add(file)
		err = os.WriteFile(file, m.secret, 0o444)
		return func() { _ = remove() }, errors.Join(err, os.Chmod(file, 0o444)) //nolint:gosec // its folder lets nobody in

	case instructions.MountTypeTmpfs, instructions.MountTypeBind:
		dir, remove, err := b.Cache.WorkFolder()
		if err != nil {
			return nil, err
		}

		undo = func() { _ = remove() } // what is left the next build removes
		source, err := lay(ctx, dir, m.files)
		add(source)
		if err == nil && ask.Linux != nil {
			err = give(source, b.LinuxOwner)
		}

		return undo, err
	}

	return nil, nil
}

// give gives files, to which nobody else gets yet, to a user.
func give(name string, owner int) error {
	return filepath.WalkDir(name, func(at string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(at, owner, owner))
	})
}

// lay makes copies of files in a folder, for programs of any user, and returns what is to be mounted: the one file
// without a name, or a folder of all.
func lay(ctx context.Context, dir string, files []imagebuild.File) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()

	const all, one = "all", "one"
	if err := layFolder(root, all); err != nil {
		return "", err
	}

	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		name := path.Join(all, f.Name)
		if f.Name == "" {
			name = one
		}

		switch f.Kind {
		case fs.ModeDir:
			err = layFolder(root, name)
		case fs.ModeSymlink:
			err = root.Symlink(f.Link, name)
		default:
			err = layFile(root, name, f)
		}
		if err != nil {
			return "", err
		}

		if f.Name == "" {
			return filepath.Join(dir, one), nil
		}
	}

	return filepath.Join(dir, all), nil
}

func layFolder(root *os.Root, name string) error {
	if err := root.MkdirAll(name, 0o777); err != nil {
		return err
	}
	return root.Chmod(name, 0o777) // whatever the umask is
}

func layFile(root *os.Root, name string, f imagebuild.File) (err error) {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	mode := fs.FileMode(0o777)
	if f.ReadOnly {
		mode = 0o555
	}
	if err := file.Chmod(mode); err != nil {
		return err
	}

	if f.Source == "" {
		_, err := file.Write(f.Data)
		return err
	}

	from, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	return f.CopyTo(io.Writer(file), from)
}
