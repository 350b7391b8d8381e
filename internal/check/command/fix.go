package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/fix"
	"mullion.dev/mullion/internal/check/manifest"
)

// What Options.Fix may be.
const (
	FixWrite = "write"
	FixDiff  = "diff"
)

// maxPasses bounds how often a file is checked again after its fixes, because a fix may make another one possible.
const maxPasses = 5

// fixed returns a file's text with the edits of its findings made, except those of ignored findings. Rules about
// several objects have no edits, so each file is fixed by itself.
func (r *run) fixed(ctx context.Context, file string, text []byte) ([]byte, error) {
	for range maxPasses {
		c, err := check.New(r.rules, r.options)
		if err != nil {
			return nil, err
		}

		var edits []check.Edit
		gather := func(one check.Result) error {
			for _, f := range one.Findings {
				if f.Suppressed == "" {
					edits = append(edits, f.Edits...)
				}
			}
			return nil
		}

		if err := c.Run(ctx, file, bytes.NewReader(text), gather); err != nil {
			return nil, err
		}
		if err := c.Finish(gather); err != nil {
			return nil, err
		}

		after, _ := fix.Apply(text, edits)
		if bytes.Equal(after, text) {
			return text, nil
		}
		text = after
	}

	return text, r.emit(check.Result{File: file, Faults: []manifest.Fault{{
		Pos:     manifest.Pos{Line: 1, Column: 1},
		Message: "there is more to fix than is done at a time",
		Remedy:  "fix it once more",
	}}})
}

// fixFile fixes a file of a folder, or prints what would change, and returns the text to check. A link is followed
// inside of the folder.
func (r *run) fixFile(ctx context.Context, path string, root *os.Root, name string) ([]byte, error) {
	text, err := beneath.Read(root, name, mostToFix)
	if err != nil {
		return nil, err
	}
	after, err := r.fixed(ctx, path, text)
	if err != nil || bytes.Equal(after, text) {
		return text, err
	}

	if r.fix == FixDiff {
		_, err := r.out.Write(diff.Diff("a/"+path, text, "b/"+path, after))
		return text, err
	}
	if err := replace(root, name, after); err != nil {
		return nil, fmt.Errorf("fix %q: %w", path, err)
	}
	return after, nil
}

// replace writes a file of a folder anew, with the permissions that it has. The file is replaced, not a link to it.
func replace(root *os.Root, name string, text []byte) error {
	const mostLinks = 40 // as the kernel has it
	for range mostLinks {
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() {
			return atomicfile.WriteIn(root, name, text, info.Mode().Perm())
		}

		target, err := root.Readlink(name)
		if err != nil {
			return err
		}
		if name = filepath.Join(filepath.Dir(name), target); filepath.IsAbs(target) || !filepath.IsLocal(name) {
			break
		}
	}

	return errors.New("it is a link that leads out of the folder that is checked")
}
