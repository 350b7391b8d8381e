package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/manifest"
)

// Bounds of what is read. A checkout is the work of strangers, who may put anything into it.
const (
	mostOfFile  = 16 * manifest.MaxDocument // bytes of a file
	mostToFix   = manifest.MaxDocument      // the same of one that is changed, which is in memory whole
	mostEntries = 20_000                    // of a folder
	mostFiles   = 1_000_000                 // of all folders
	deepest     = 100                       // folders inside each other
)

// path checks a file, standard input, or a folder's .yaml, .yml and .json files.
func (r *run) path(ctx context.Context, path string) error {
	if path == "-" {
		return r.stdin(ctx)
	}

	info, err := os.Stat(path)
	switch {
	case err != nil:
		return unread(path, err, r.emit)
	case r.config.ignores(path):
		return nil
	case info.IsDir():
		root, err := os.OpenRoot(path)
		if err != nil {
			return unread(path, err, r.emit)
		}
		defer root.Close()
		w := walk{
			run:  r,
			root: root,
			path: path,
			left: mostFiles,
		}

		return w.folder(ctx, ".", 0)
	}

	return unread(path, r.given(ctx, path), r.emit)
}

// stdin checks standard input, which has to have something: a command before it in the pipe may have failed.
func (r *run) stdin(ctx context.Context) error {
	const name = "<stdin>"
	documents := 0
	emit := func(one check.Result) error {
		documents++
		return r.emit(one)
	}
	err := unread(name, r.checker.Run(ctx, name, interrupt.Reader(ctx, r.in), emit), emit)
	if err != nil || documents > 0 {
		return err
	}
	return r.emit(notRead(name, "standard input has no document, so nothing was checked",
		"look whether the command before it in the pipe has failed"))
}

// given checks a file that was named. Where it is a link, somebody who named it wants what it leads to.
func (r *run) given(ctx context.Context, path string) error {
	if r.fix == "" {
		f, err := beneath.OpenGiven(path)
		if err != nil {
			return err
		}
		return r.stream(ctx, path, f)
	}

	target, err := filepath.EvalSymlinks(path) // the file is replaced, not the link to it
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer root.Close()
	return r.fixAndCheck(ctx, path, root, filepath.Base(target))
}

// stream checks an open file, and closes it.
func (r *run) stream(ctx context.Context, path string, f *os.File) error {
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > mostOfFile {
		err = &beneath.UnfitError{Path: path, What: fmt.Sprintf("larger than %d MiB, the most that is read", mostOfFile>>20)}
	}
	if err != nil {
		return err
	}
	return r.checker.Run(ctx, path, interrupt.Reader(ctx, io.LimitReader(f, mostOfFile)), r.emit)
}

// fixAndCheck fixes a file of a folder, or prints what would change, and checks it.
func (r *run) fixAndCheck(ctx context.Context, path string, root *os.Root, name string) error {
	text, err := r.fixFile(ctx, path, root, name)
	if err != nil {
		return err
	}
	return r.checker.Run(ctx, path, bytes.NewReader(text), r.emit)
}

// walk reads the files of a folder that was named. Nothing outside of it is read or written, wherever links lead.
type walk struct {
	*run
	root *os.Root
	path string // of the folder
	left int    // files that may still be read
}

// folder checks what is in a folder, which lies so many folders below the one that was named.
func (w *walk) folder(ctx context.Context, name string, depth int) error {
	path := filepath.Join(w.path, name)
	if depth > deepest {
		return w.emit(notRead(path, fmt.Sprintf("more than %d folders inside each other", deepest), "name it by itself"))
	}
	if _, err := w.root.Stat(filepath.Join(name, "Chart.yaml")); err == nil {
		return w.emit(notRead(path, "this is a Helm chart, whose templates have to be rendered",
			"`helm template NAME "+path+" | mullion check -`"))
	}

	entries, err := w.entries(name)
	if err != nil {
		return unread(path, err, w.emit)
	}

	if len(entries) > mostEntries {
		entries = entries[:mostEntries]
		err := w.emit(notRead(path, fmt.Sprintf("it has more than %d entries, of which no more are read", mostEntries),
			"name what is to be checked"))
		if err != nil {
			return err
		}
	}

	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if err := w.entry(ctx, filepath.Join(name, e.Name()), e, depth); err != nil {
			return err
		}
	}

	return nil
}

// entries returns the entries of a folder, of one that has too many one more than is read.
func (w *walk) entries(name string) ([]fs.DirEntry, error) {
	dir, err := w.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(mostEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

func (w *walk) entry(ctx context.Context, name string, e fs.DirEntry, depth int) error {
	path := filepath.Join(w.path, name)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case w.config.ignores(path):
		return nil
	case e.IsDir() && strings.HasPrefix(e.Name(), "."):
		return nil
	case e.IsDir():
		return w.folder(ctx, name, depth+1)
	case !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
		return nil
	}

	if w.left--; w.left < 0 {
		if w.left < -1 {
			return nil // it was said
		}
		return w.emit(notRead(path, fmt.Sprintf("more than %d files, of which no more are read", mostFiles), "check them in parts"))
	}

	err := w.file(ctx, path, name)
	if leadsOut(err, e) {
		return w.emit(notRead(path, "this is a link that leads out of the folder that is checked, or to nothing",
			"name the file that it leads to, if that is to be checked too"))
	}

	return unread(path, err, w.emit)
}

// file checks a file of the folder.
func (w *walk) file(ctx context.Context, path, name string) error {
	if w.fix != "" {
		return w.fixAndCheck(ctx, path, w.root, name)
	}
	f, _, err := beneath.Open(w.root, name)
	if err != nil {
		return err
	}
	return w.stream(ctx, path, f)
}

// leadsOut reports whether err is that a link leads to nothing inside of its folder.
func leadsOut(err error, e fs.DirEntry) bool {
	var at *fs.PathError
	return e.Type()&fs.ModeSymlink != 0 && errors.As(err, &at) && !errors.Is(err, fs.ErrPermission)
}

// notRead returns the result of what could not be read.
func notRead(file, message, remedy string) check.Result {
	return check.Result{File: file, Faults: []manifest.Fault{{
		Pos:     manifest.Pos{Line: 1, Column: 1},
		Fatal:   true,
		Message: message,
		Remedy:  remedy,
	}}}
}

// unread turns an error of reading into a fault, so that the other inputs are still checked.
func unread(file string, err error, emit func(check.Result) error) error {
	var pathErr *fs.PathError
	unfit, isUnfit := errors.AsType[*beneath.UnfitError](err)
	switch {
	case isUnfit:
		return emit(notRead(file, "it is "+unfit.What, ""))
	case err == nil, !errors.As(err, &pathErr):
		return err
	}
	return emit(notRead(file, err.Error(), ""))
}
