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
	key.Add(s.Created.String())
	for i := range files {
		if err := addFile(ctx, key, &files[i]); err != nil {
			return nil, err
		}
		c.files[strings.ToLower(files[i].Name)] = files[i] // with its sum
	}

	s.cached = true
	return s.layer(ctx, key, func(w io.Writer) error {
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
	if s.copied && s.unnamed > 0 {
		s.Say(Event{Warning: fmt.Sprintf("%d files of %s are left out, such as %q: Windows has no such names", s.unnamed,
			s.standIn, s.unnamedOne)})
	}
	s.history(config.History, found.Windows)
	s.standing = len(s.steps)
	return nil
}

// system is the system of a stage.
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
	if s.linux && !s.copied {
		return nil
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
	if !s.linux {
		s.steps = append(s.steps, imagebuild.Step{Layer: layer})
	}
	return nil
}

// history says of the steps of a base what the base's own history says, but for what is Windows'.
func (s *stage) history(own []v1.History, windows int) {
	if s.linux {
		return
	}
	made := s.steps[1:]
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
	s.steps = append(s.steps[:1:1], append(all, made...)...)
}

// written brings what a layer has into the stage's tree.
func (s *stage) written(ctx context.Context, layer *imagebuild.Layer) error {
	file, err := layer.Bytes().Uncompressed()
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()

	for r := tar.NewReader(file); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}

		at, ok := strings.CutPrefix(path.Clean("/"+header.Name), "/Files/")
		if s.linux {
			at, ok = strings.TrimPrefix(path.Clean("/"+header.Name), "/"), true
		}
		if !ok || at == "" {
			continue
		}
		if len(s.tree) > mostUnpacked {
			return refuse(errdefs.ErrInvalidArgument, "it has more than %d files", mostUnpacked)
		}
		if err := s.entry(at, header, r); err != nil {
			return fmt.Errorf("%q: %w", at, err)
		}
	}
}

// entry brings one entry of a layer into the stage's tree. The bytes of a file are kept if somebody takes them.
func (s *stage) entry(name string, header *tar.Header, from io.Reader) (err error) {
	base := path.Base(name)
	switch {
	case base == imagebuild.OpaqueWhiteout:
		s.tree.remove(path.Dir(name), false)
		return nil
	case strings.HasPrefix(base, imagebuild.Whiteout):
		s.tree.remove(path.Join(path.Dir(name), base[len(imagebuild.Whiteout):]), true)
		return nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if imagebuild.CheckName(part) != nil {
			s.unnamed++
			s.unnamedOne = name
			return nil // Linux has such names, and Windows not
		}
	}

	f := imagebuild.File{Name: name}
	switch header.Typeflag {
	case tar.TypeDir:
		f.Kind = fs.ModeDir
	case tar.TypeSymlink:
		f.Kind, f.Link = fs.ModeSymlink, strings.ReplaceAll(header.Linkname, `\`, "/")
	case tar.TypeLink:
		if f, err = s.linked(name, header.Linkname); err != nil {
			return err
		}
	case tar.TypeReg:
		f.Size = header.Size
		if s.copied {
			if err := s.keepBytes(&f, from); err != nil {
				return err
			}
		}
	default:
		return nil // a device, of Linux
	}

	made := s.tree.change()
	if old, there := made.find(name); there && (old.Kind == fs.ModeDir) != (f.Kind == fs.ModeDir) {
		s.tree.remove(name, true)
	}
	if err := made.add(f); err != nil {
		return err
	}
	maps.Copy(s.tree, made.files)
	return nil
}

// linked returns the file that a hard link of a layer names.
func (s *stage) linked(name, to string) (imagebuild.File, error) {
	to = strings.TrimPrefix(path.Clean("/"+to), "/")
	if !s.linux {
		to = strings.TrimPrefix(to, "Files/")
	}
	f, ok := s.tree.find(to)
	if !ok || f.Kind == fs.ModeDir {
		return f, refuse(errdefs.ErrInvalidArgument, "it is a link to %q, which is no file of the image", to)
	}
	f.Name = name
	return f, nil
}

// keepBytes keeps the bytes of a file of a layer, for who copies it.
func (s *stage) keepBytes(f *imagebuild.File, from io.Reader) (err error) {
	file, err := s.scratchFile()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	f.Source = file.Name()
	f.Size, err = io.Copy(file, from)
	return err
}

// remove removes what is below a name, and it itself if asked to.
func (t tree) remove(name string, itself bool) {
	folded := strings.ToLower(name)
	if itself {
		delete(t, folded)
	}
	maps.DeleteFunc(t, func(other string, _ imagebuild.File) bool { return strings.HasPrefix(other, folded+"/") })
}

// runKey is the key of what a command changes: all that it can see, but for secrets and the folders of caches, which
// only their ids are of, as in BuildKit.
func (s *stage) runKey(config v1.Config, alone bool, mounts []mount) (buildcache.Key, error) {
	key := buildcache.NewKey("run")
	key.Add(s.Runner, s.Created.String(), strconv.FormatBool(alone), strings.Join(s.osVersions, " "))
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
		if err := mounts[i].addTo(key); err != nil {
			return key, err
		}
	}
	return key, nil
}
