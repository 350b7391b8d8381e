package dockerfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// source is where COPY and ADD take files from.
type source interface {
	// glob returns the names that a pattern has, which are relative and have slashes; none is no error.
	glob(pattern string) ([]string, error)
	// list returns a file, whose name is "", or all that is in a folder, by names relative to it.
	list(ctx context.Context, name string) (files []imagebuild.File, folder bool, err error)
}

// folder is the folder of a build, without what .dockerignore leaves out. Nothing outside of it is reached.
type folder struct {
	dir     string
	root    *os.Root
	ignored *patternmatcher.PatternMatcher
	// linux says that the files go into a stage for Linux.
	linux bool
}

// in returns the folder for a stage of a system.
func (f *folder) in(linux bool) *folder {
	same := *f
	same.linux = linux
	return &same
}

// openFolder opens the folder of a build.
func openFolder(o Options) (*folder, error) {
	dir, err := filepath.EvalSymlinks(o.Context)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the build: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the build: %w", err)
	}

	f := &folder{dir: dir, root: root}
	if f.ignored, err = f.ignores(o.File); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

func (f *folder) close() { _ = f.root.Close() }

// ignores reads the list of what the build leaves out: that of the Dockerfile, or else that of the folder.
// https://docs.docker.com/build/concepts/context/#dockerignore-files
func (f *folder) ignores(file string) (*patternmatcher.PatternMatcher, error) {
	name := file + ".dockerignore"
	text, err := beneath.ReadPath(name, mostOfFile)
	if errors.Is(err, fs.ErrNotExist) {
		name = filepath.Join(f.dir, ".dockerignore")
		text, err = beneath.ReadPath(name, mostOfFile)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return patternmatcher.New(nil)
	}

	if err != nil {
		return nil, fmt.Errorf("read what the build leaves out: %w", err)
	}

	patterns, err := ignorefile.ReadAll(strings.NewReader(string(text)))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w: %w", name, err, errdefs.ErrInvalidArgument)
	}

	return matcher, nil
}

// leaves reports whether a file is left out.
func (f *folder) leaves(name string) (bool, error) {
	if name == "" || name == "." {
		return false, nil
	}
	return f.ignored.MatchesOrParentMatches(name)
}

// inFolder returns a path of a Dockerfile as a name in the folder. What leads out of it begins at the folder again, as
// in Docker.
func inFolder(name string) string {
	p := strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
	if p == "" {
		return "."
	}
	return p
}

// glob implements source.
func (f *folder) glob(pattern string) ([]string, error) {
	pattern = inFolder(pattern)
	found := []string{pattern}
	if hasWildcard(pattern) {
		var err error
		if found, err = fs.Glob(f.root.FS(), pattern); err != nil {
			return nil, fmt.Errorf("pattern %q: %w: %w", pattern, err, errdefs.ErrInvalidArgument)
		}
	}

	var kept []string
	for _, name := range found {
		_, err := f.root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}

		// A folder that is left out may have files that are not: .dockerignore has "!".
		if left, err := f.leaves(name); err != nil {
			return nil, err
		} else if left && !f.ignored.Exclusions() {
			continue
		}
		kept = append(kept, name)
	}

	return kept, nil
}

// list implements source.
func (f *folder) list(ctx context.Context, name string) (files []imagebuild.File, isFolder bool, err error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, false, err
	}
	if info.IsDir() {
		files, err := f.below(ctx, name)
		return files, true, err
	}

	left, err := f.leaves(name)
	if left || err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, refuse(errdefs.ErrInvalidArgument, "%q is no file and no folder", name)
	}

	return []imagebuild.File{{
		In:       f.root,
		Source:   name,
		Size:     info.Size(),
		ReadOnly: info.Mode().Perm()&0o222 == 0,
		Mode:     imagebuild.Permissions(info),
	}}, false, nil
}

// below returns what is in a folder, which a link may name. Others may change it meanwhile, so its files are read
// through the root.
func (f *folder) below(ctx context.Context, name string) ([]imagebuild.File, error) {
	at, err := filepath.EvalSymlinks(filepath.Join(f.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	name, err = filepath.Rel(f.dir, at)
	if err != nil || !filepath.IsLocal(name) {
		return nil, refuse(errdefs.ErrInvalidArgument, "%q leads out of the folder of the build", name)
	}

	leaves := func(rel string) (bool, error) { return f.leaves(path.Join(name, rel)) }
	scan := imagebuild.Scan
	if f.linux {
		scan = imagebuild.ScanLinux
	}

	files, err := scan(ctx, at, "", leaves)
	for i := range files {
		if files[i].Kind == 0 {
			files[i].In, files[i].Source = f.root, path.Join(name, files[i].Name)
		}
	}

	return files, err
}

func hasWildcard(pattern string) bool { return strings.ContainsAny(pattern, "*?[") }
