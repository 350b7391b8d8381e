package dockerfile

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/patternmatcher"

	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// copying is a COPY or an ADD that is being carried out.
type copying struct {
	*stage
	command instructions.Command
	from    source
	// target is where the files go, a name on C:; into says that it is a folder, whatever is there.
	target string
	into   bool
	// excluded leaves out files by their names below the source.
	excluded *patternmatcher.PatternMatcher
	made     *change
	rights   rights
	// unnamed counts the files of Linux whose names Windows does not have, and unnamedOne is one of them.
	unnamed    int
	unnamedOne string
}

// copyFiles carries out COPY.
func (s *stage) copyFiles(ctx context.Context, number int, c *instructions.CopyCommand) error {
	if c.Parents {
		return refuse(errdefs.ErrNotImplemented, "--parents is not carried out here: copy each folder to its own place")
	}
	from, standIn, err := s.source(ctx, number, c.From)
	if err != nil {
		return err
	}

	w, err := s.copying(c, c.SourcesAndDest, from, c.ExcludePatterns)
	if err != nil {
		return err
	}
	if err := w.readRights(ctx, c.Chown, c.Chmod); err != nil {
		return err
	}

	for _, pattern := range c.SourcePaths {
		if t, ok := from.(tree); ok && !t.exact {
			if _, err := withoutDrive(pattern); err != nil {
				return err
			}
		}
		if err := w.pattern(ctx, pattern, standIn); err != nil {
			return err
		}
	}

	if err := w.heredocs(c.SourceContents); err != nil {
		return err
	}

	return w.put(ctx)
}

// put makes a layer of what was copied.
func (w *copying) put(ctx context.Context) error {
	if w.unnamed > 0 {
		w.warn(w.command, "%d files are left out, such as %q: Windows has no such names", w.unnamed, w.unnamedOne)
	}
	return w.stage.put(ctx, w.made, fmt.Sprint(w.command))
}

// source finds where COPY takes files from: the folder, a stage before, or an image. standIn names an image of
// Microsoft's whose own files are not there.
func (s *stage) source(ctx context.Context, number int, from string) (_ source, standIn string, err error) {
	if from == "" {
		return s.folder.in(s.linux), "", nil
	}

	if at, ok := s.file.named(from, number); ok {
		other, err := s.stage(ctx, at)
		if err != nil {
			return nil, "", err
		}
		return other.tree, other.standIn, nil
	}

	other, err := s.imageOf(ctx, from)
	if err != nil {
		return nil, "", err
	}

	return other.tree, other.standIn, nil
}

// imageOf finds an image that files are taken from: one for Windows, or else for Linux.
func (b *builder) imageOf(ctx context.Context, name string) (*stage, error) {
	if found := b.images[name]; found != nil {
		return found, nil
	}

	found, err := b.base(ctx, name, imagebuild.Windows)
	if errdefs.IsNotFound(err) {
		if other, otherErr := b.base(ctx, name, imagebuild.Linux); otherErr == nil {
			found, err = other, nil
		}
	}
	if err != nil {
		return nil, err
	}

	b.images[name] = found
	return found, nil
}

// copying prepares a COPY or an ADD.
func (s *stage) copying(c instructions.Command, what instructions.SourcesAndDest, from source, exclude []string) (
	*copying, error,
) {
	target, err := s.path(what.DestPath)
	if err != nil {
		return nil, err
	}
	excluded, err := patternmatcher.New(exclude)
	if err != nil {
		return nil, fmt.Errorf("--exclude: %w: %w", err, errdefs.ErrInvalidArgument)
	}

	isFolder, err := s.tree.isFolder(target)
	if err != nil {
		return nil, err
	}

	several := len(what.SourcePaths)+len(what.SourceContents) > 1
	into := s.isFolder(what.DestPath)
	if several && !into {
		return nil, refuse(errdefs.ErrInvalidArgument,
			"of several files the target has to be a folder, and end with a slash")
	}

	return &copying{
		stage:    s,
		command:  c,
		from:     from,
		target:   target,
		into:     into || isFolder || (!s.linux && ofWindows(target)),
		excluded: excluded,
		made:     s.tree.change(),
	}, nil
}

// pattern copies what a pattern names.
func (w *copying) pattern(ctx context.Context, pattern, standIn string) error {
	at, err := w.sourceName(pattern)
	if err != nil {
		return err
	}

	found, err := w.from.glob(at)
	if err != nil {
		return err
	}
	if len(found) == 0 && !hasWildcard(at) {
		return w.missing(pattern, at, standIn)
	}

	if len(found) > 1 && !w.into {
		return refuse(errdefs.ErrInvalidArgument,
			"%q names %d files: the target has to be a folder, and end with a slash", pattern, len(found))
	}

	if t, ok := w.from.(tree); ok { // all at once
		if err := t.unpack(ctx, found...); err != nil {
			return err
		}
	}

	for _, name := range found {
		files, folder, err := w.from.list(ctx, name)
		if err != nil {
			return err
		}
		if !folder && len(files) == 0 && !hasWildcard(at) {
			return w.missing(pattern, at, standIn)
		}

		if err := w.place(name, files, folder); err != nil {
			return err
		}
	}

	return nil
}

// sourceName returns the name of what a pattern stands for, with slashes. In a stage it may have a drive.
func (w *copying) sourceName(pattern string) (string, error) {
	t, ok := w.from.(tree)
	switch {
	case ok && t.exact:
		return strings.TrimPrefix(path.Clean("/"+pattern), "/"), nil
	case !ok && w.linux:
		return pattern, nil
	case !ok:
		return strings.ReplaceAll(pattern, `\`, "/"), nil
	}

	p, err := withoutDrive(pattern)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(path.Clean("/"+p), "/"), nil
}

// missing returns the error of a file that is not there. Windows' own files are in no stand-in, and every container has
// Wine's.
func (w *copying) missing(pattern, at, standIn string) error {
	if standIn != "" && strings.HasPrefix(strings.ToLower(at), "windows/") {
		w.warn(w.command, "%s is Windows' own, which a stand-in for %s has not: the container has Wine's in its place, "+
			"if there is one", pattern, standIn)
		return nil
	}
	if _, ok := w.from.(tree); ok {
		return refuse(errdefs.ErrNotFound, "%q is not in the stage or image", pattern)
	}
	return refuse(errdefs.ErrNotFound, "%q is not in the folder of the build, or .dockerignore leaves it out", pattern)
}

// place puts files to the target: the contents of a folder into it, a file into it or in its place.
func (w *copying) place(name string, files []imagebuild.File, folder bool) error {
	target := w.target
	if folder {
		if _, err := w.made.folder(target); err != nil {
			return err
		}
	} else if w.into {
		target = path.Join(target, path.Base(name))
	}

	for _, f := range files {
		left, err := w.leaves(f.Name, name)
		if err != nil {
			return err
		}
		if left {
			continue
		}

		named, err := w.named(cmp.Or(f.Name, path.Base(target)))
		if err != nil {
			return err
		}
		if !named {
			continue
		}

		f.Name = path.Join(target, f.Name)
		f.Link = w.link(f.Link)
		if err := w.made.add(w.rights.of(f)); err != nil {
			return err
		}
	}

	return nil
}

// named checks the name of a file, which is relative to what is copied. Windows does not have some names of Linux: such
// a file of a stage or an image is left out.
func (w *copying) named(name string) (bool, error) {
	if w.linux {
		return true, nil
	}

	for part := range strings.SplitSeq(name, "/") {
		err := imagebuild.CheckName(part)
		if part == "" || err == nil {
			continue
		}
		if t, ok := w.from.(tree); !ok || !t.exact {
			return false, err
		}
		w.unnamed++
		w.unnamedOne = name

		return false, nil
	}

	return true, nil
}

// link returns where a link leads: on Windows it may have been written in Linux' words or in Windows' own.
func (w *copying) link(to string) string {
	if w.linux {
		return to
	}
	return strings.ReplaceAll(to, `\`, "/")
}

// leaves reports whether --exclude names a file.
func (w *copying) leaves(rel, name string) (bool, error) {
	if rel == "" {
		rel = path.Base(name)
	}
	if rel == "" || rel == "." {
		return false, nil
	}
	return w.excluded.MatchesOrParentMatches(rel)
}

// heredocs places files whose text is in the Dockerfile.
func (w *copying) heredocs(all []instructions.SourceContent) error {
	for _, c := range all {
		target := w.target
		if w.into {
			if _, err := w.named(c.Path); err != nil {
				return err
			}
			target = path.Join(target, c.Path)
		}

		f := imagebuild.File{
			Name: target,
			Data: []byte(c.Data),
			Size: int64(len(c.Data)),
		}
		if err := w.made.add(w.rights.of(f)); err != nil {
			return err
		}
	}

	return nil
}
