package dockerfile

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"mullion.dev/mullion/internal/runtime/buildcache"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// layer returns the layer of a key: that of an earlier build, or what write writes.
func (b *builder) layer(
	ctx context.Context, key buildcache.Key, write func(io.Writer) error,
) (*imagebuild.Layer, error) {
	if !b.NoCache {
		if found, ok := b.Cache.Find(key); ok {
			return imagebuild.NewLayer(found), nil
		}
	}

	b.cached = false
	made, err := b.Cache.Make(ctx, key, write)
	if err != nil {
		return nil, err
	}
	return imagebuild.NewLayer(made), nil
}

// filesLayer returns the layer of what an instruction has added, by its files.
func (s *stage) filesLayer(ctx context.Context, c *change) (*imagebuild.Layer, error) {
	files := c.sorted()
	key := buildcache.NewKey("files")
	key.Add(s.Created.String(), s.system())
	for i := range files {
		if err := addFile(ctx, key, &files[i]); err != nil {
			return nil, err
		}
		if s.linux {
			key.Add(strconv.FormatInt(files[i].Mode, 8), strconv.Itoa(files[i].UID), strconv.Itoa(files[i].GID))
		}
		c.files[s.tree.key(files[i].Name)] = files[i] // with its sum
	}

	s.cached = true
	return s.layer(ctx, key, func(w io.Writer) error {
		if s.linux {
			return imagebuild.WriteLinuxLayer(ctx, w, files, s.Created)
		}
		return imagebuild.WriteWindowsLayer(ctx, w, files, nil, s.Created)
	})
}

// addFile adds all of a file that is in a layer to a key. It reads the file's bytes unless somebody has before.
func addFile(ctx context.Context, key buildcache.Key, f *imagebuild.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := f.SumUp(); err != nil {
		return err
	}
	key.Add(f.Name, f.Kind.String(), f.Link, strconv.FormatBool(f.ToDir), strconv.FormatBool(f.ReadOnly), string(f.Sum))
	return nil
}

// onImage begins a stage with an image that is there. Its layers that are Windows' own are left out.
func (s *stage) onImage(ctx context.Context, found Base) error {
	config, err := found.Image.ConfigFile()
	if err != nil {
		return err
	}
	layers, err := found.Image.Layers()
	if err != nil {
		return err
	}

	if len(config.Config.OnBuild) > 0 {
		return hasOnBuild(s.standIn)
	}
	if config.OS != s.system() || config.Architecture != "amd64" {
		return refuse(errdefs.ErrNotFound, "%s is for %s/%s, and the stage for %s/amd64; for files of Linux that "+
			"another stage copies, say FROM --platform=linux/amd64", s.standIn, config.OS, config.Architecture, s.system())
	}

	s.real, s.windows = found.Image, found.Windows
	s.config, s.author = config.Config, config.Author
	s.entryLine = config.Config.ArgsEscaped && len(config.Config.Entrypoint) > 0
	if !s.linux {
		if err := s.versions(imagebuild.Spec{OSVersions: []string{config.OSVersion}}, s.standIn); err != nil {
			return err
		}
		first, err := imagebuild.BaseStep(ctx, s.Created)
		if err != nil {
			return err
		}
		s.steps = append(s.steps, first)
	}

	s.cached = true
	for i, l := range layers {
		if i < found.Windows {
			continue
		}
		if err := s.takeLayer(ctx, l); err != nil {
			return fmt.Errorf("take the layers of %s: %w", s.standIn, err)
		}
	}

	s.history(config.History, found.Windows)
	s.standing = len(s.steps)
	return nil
}

// system returns the system of a stage.
func (s *stage) system() string {
	if s.linux {
		return imagebuild.Linux
	}
	return imagebuild.Windows
}

// takeLayer takes a layer of the stage's base into the cache.
func (s *stage) takeLayer(ctx context.Context, from v1.Layer) error {
	sum, err := from.DiffID()
	if err != nil {
		return err
	}

	key := buildcache.NewKey("layer")
	key.Add(sum.String())
	layer, err := s.layer(ctx, key, func(w io.Writer) error {
		plain, err := from.Uncompressed()
		if err != nil {
			return err
		}
		defer func() { _ = plain.Close() }()

		check := digest.SHA256.Digester()
		size, err := io.Copy(io.MultiWriter(w, check.Hash()), io.LimitReader(plain, mostFetched+1))
		switch {
		case err != nil:
			return err
		case size > mostFetched:
			return refuse(errdefs.ErrInvalidArgument, "a layer has more than %d GiB", mostFetched>>30)
		case check.Digest().String() != sum.String():
			return refuse(errdefs.ErrDataLoss, "a layer is not %s, as the image's configuration says", sum)
		}

		return nil
	})
	if err != nil {
		return err
	}

	if err := s.written(ctx, layer); err != nil {
		return err
	}
	s.steps = append(s.steps, imagebuild.Step{Layer: layer})
	return nil
}

// history says of the steps of a base what the base's own history says, but for what is Windows'.
func (s *stage) history(own []v1.History, windows int) {
	first := 1 // what is in the place of Windows' own layers
	if s.linux {
		first = 0
	}

	made := s.steps[first:]
	var all []imagebuild.Step
	for _, h := range own {
		switch {
		case h.EmptyLayer:
			all = append(all, imagebuild.Step{By: h.CreatedBy})
		case windows > 0:
			windows--
		case len(made) > 0:
			all = append(all, imagebuild.Step{Layer: made[0].Layer, By: h.CreatedBy})
			made = made[1:]
		}
	}

	s.steps = append(s.steps[:first:first], append(all, made...)...)
}

// sizeRecord says in a listing how many bytes a file has.
const sizeRecord = "MULLION.size"

// mostUnlisted is how large a layer may be, in bytes, of which no listing is kept: it is read in no time.
const mostUnlisted = 1 << 20

// listing returns a layer without the bytes of its files, which takes long to read if it is large; or the layer itself.
func (s *stage) listing(ctx context.Context, layer *imagebuild.Layer) (*imagebuild.Layer, error) {
	size, err := layer.Bytes().Size()
	if err != nil || size < mostUnlisted {
		return layer, err
	}
	sum, err := layer.Bytes().DiffID()
	if err != nil {
		return nil, err
	}

	was := s.cached
	defer func() { s.cached = was }() // nobody waits for a listing alone

	key := buildcache.NewKey("listing")
	key.Add(sum.String())
	return s.layer(ctx, key, func(w io.Writer) error {
		from, err := layer.Bytes().Uncompressed()
		if err != nil {
			return err
		}
		defer func() { _ = from.Close() }()
		return writeListing(w, tar.NewReader(interruptible(ctx, from)))
	})
}

func writeListing(w io.Writer, from *tar.Reader) error {
	to := tar.NewWriter(w)
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return to.Close()
		}
		if err != nil {
			return err
		}

		if err := to.WriteHeader(&tar.Header{
			Format:     tar.FormatPAX,
			Typeflag:   h.Typeflag,
			Name:       h.Name,
			Linkname:   h.Linkname,
			Mode:       h.Mode,
			Uid:        h.Uid,
			Gid:        h.Gid,
			PAXRecords: map[string]string{sizeRecord: strconv.FormatInt(h.Size, 10)},
		}); err != nil {
			return err
		}
	}
}

// written brings what a layer has into the stage's tree.
func (s *stage) written(ctx context.Context, layer *imagebuild.Layer) error {
	listing, err := s.listing(ctx, layer)
	if err != nil {
		return err
	}
	file, err := listing.Bytes().Uncompressed()
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()

	for r := tar.NewReader(interruptible(ctx, file)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}

		whole := path.Clean("/" + header.Name)
		at, ok := strings.CutPrefix(whole, "/Files/")
		if s.linux {
			at, ok = strings.TrimPrefix(whole, "/"), true
		}
		if !ok || at == "" {
			continue
		}

		if len(s.tree.entries) > mostUnpacked {
			return refuse(errdefs.ErrInvalidArgument, "it has more than %d files", mostUnpacked)
		}
		if err := s.entry(at, header, packed{layer, whole}); err != nil {
			return fmt.Errorf("%q: %w", at, err)
		}
	}
}

// entry brings one entry of a layer into the stage's tree.
func (s *stage) entry(name string, header *tar.Header, from packed) (err error) {
	if err := errors.Join(short(name), short(header.Linkname)); err != nil {
		return err
	}

	base := path.Base(name)
	switch {
	case base == imagebuild.OpaqueWhiteout:
		s.tree.remove(parentOf(name), false)
		return nil
	case strings.HasPrefix(base, imagebuild.Whiteout):
		s.tree.remove(path.Join(path.Dir(name), base[len(imagebuild.Whiteout):]), true)
		return nil
	}

	made := entry{File: imagebuild.File{
		Name: name,
		Mode: header.Mode & permissionBits,
		UID:  header.Uid,
		GID:  header.Gid,
	}}

	switch header.Typeflag {
	case tar.TypeDir:
		made.Kind = fs.ModeDir
	case tar.TypeSymlink:
		made.Kind, made.Link = fs.ModeSymlink, header.Linkname
		if !s.linux {
			made.Link = strings.ReplaceAll(header.Linkname, `\`, "/")
		}

	case tar.TypeLink:
		if made, err = s.linked(name, header.Linkname); err != nil {
			return err
		}

	case tar.TypeReg:
		made.packed, made.Size = from, header.Size
		if listed, ok := header.PAXRecords[sizeRecord]; ok {
			if made.Size, err = strconv.ParseInt(listed, 10, 64); err != nil {
				return err
			}
		}
	default:
		return nil // a device, of Linux
	}

	old, there := s.tree.find(name)
	if there && (old.Kind == fs.ModeDir) != (made.Kind == fs.ModeDir) {
		s.tree.remove(name, true)
	}
	return s.tree.put(made)
}

// permissionBits are those of a mode, and those of set-user-id, set-group-id and the sticky bit.
const permissionBits = 0o7777

// put takes in an entry, and folders that lead to it and are in no layer. Names keep the spelling that they have.
func (t tree) put(e entry) error {
	made := t.change()
	parent, err := made.folder(parentOf(e.Name))
	if err != nil {
		return err
	}
	e.Name = path.Join(parent, path.Base(e.Name))
	t.take(made)
	t.set(e)
	return nil
}

// linked returns the file that a hard link of a layer names.
func (s *stage) linked(name, to string) (entry, error) {
	to = strings.TrimPrefix(path.Clean("/"+to), "/")
	if !s.linux {
		to = strings.TrimPrefix(to, "Files/")
	}
	e, ok := s.tree.entries[s.tree.key(to)]
	if !ok || e.Kind == fs.ModeDir {
		return e, refuse(errdefs.ErrInvalidArgument, "it is a link to %q, which is no file of the image", to)
	}
	e.Name = name
	return e, nil
}

// runKey returns the key of what a command changes: all that it can see, but for secrets and the folders of caches,
// which only their ids are of, as in BuildKit.
func (s *stage) runKey(config v1.Config, alone bool, mounts []mount) (buildcache.Key, error) {
	key := buildcache.NewKey("run")
	key.Add(s.Runner, s.Created.String(), s.system(), strconv.FormatBool(alone), strings.Join(s.osVersions, " "))
	for _, step := range s.steps {
		if step.Layer == nil {
			continue
		}
		sum, err := step.Layer.Bytes().DiffID()
		if err != nil {
			return key, err
		}
		key.Add("below", sum.String())
	}

	for _, part := range []struct {
		name  string
		words []string
	}{
		{"command", config.Cmd},
		{"environment", config.Env},
		{"volumes", slices.Sorted(maps.Keys(config.Volumes))},
		{"rest", []string{config.User, config.WorkingDir, strconv.FormatBool(config.ArgsEscaped)}},
	} {
		key.Add(part.name, strconv.Itoa(len(part.words)))
		key.Add(part.words...)
	}

	for i := range mounts {
		mounts[i].addTo(key)
	}

	return key, nil
}
