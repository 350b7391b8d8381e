package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/fix"
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
			break
		}
		text = after
	}
	return text, nil
}

// fixFile fixes a file, or prints what would change, and returns the text to check.
func (r *run) fixFile(ctx context.Context, file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	after, err := r.fixed(ctx, file, text)
	if err != nil || bytes.Equal(after, text) {
		return text, err
	}
	if r.fix == FixDiff {
		_, err := r.out.Write(diff.Diff("a/"+file, text, "b/"+file, after))
		return text, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	target, err := filepath.EvalSymlinks(file) // the file is replaced, not the link to it
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(target, after, info.Mode().Perm()); err != nil {
		return nil, fmt.Errorf("fix %q: %w", file, err)
	}
	return after, nil
}
