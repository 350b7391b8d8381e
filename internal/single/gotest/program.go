package gotest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mullion.dev/mullion/internal/single"
)

// Program is a test program, as it is called.
type Program struct {
	// Path is the program's file, Dir the folder that it works in: both of this machine, and absolute.
	Path, Dir string
	Args      []string
	// Environ is the environment as NAME=VALUE.
	Environ []string
}

// Call is a program that is ready to run.
type Call struct {
	outputs []output
	// scratch is the folder of the outputs, "" without one.
	scratch string
	// given are the files that the program was given, by their paths in scratch.
	given map[string]version
	// written are the folders of this machine that containers write to, under each of their names.
	written []string
	remove  func() error
}

// Prepare completes the request for a program, whose other fields are given: what it mounts, its arguments, and its
// environment before the variables that are there. The caller closes the call.
func (p Program) Prepare(ctx context.Context, client *single.Client, ask *single.Run) (*Call, error) {
	c, err := p.place(ask)
	if err != nil || len(c.outputs) == 0 {
		return c, err
	}
	scratch, err := client.NewScratch(ctx)
	if err != nil {
		return nil, fmt.Errorf("make room for what the tests write: %w", err)
	}

	c.scratch, c.remove = scratch.Dir, scratch.Remove
	if err := c.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("make room for what the tests write: %w", err), c.Close())
	}
	ask.Mounts = append(ask.Mounts, single.Mount{Source: c.scratch, Target: outputFolder})
	return c, nil
}

// Close removes what is only there while the program runs.
func (c *Call) Close() error {
	if c.remove == nil {
		return nil
	}
	return c.remove()
}

// place completes the request but for the folder of the outputs.
func (p Program) place(ask *single.Run) (*Call, error) {
	if err := checkDir(p.Dir); err != nil {
		return nil, err
	}
	mounts, err := p.mounts()
	if err != nil {
		return nil, err
	}

	program, err := onWindows(p.Path)
	if err != nil {
		return nil, err
	}
	if ask.Dir == "" {
		if ask.Dir, err = onWindows(p.Dir); err != nil {
			return nil, err
		}
	}

	args, outputs := p.outputs()
	c := &Call{outputs: outputs}
	ask.Image = ""
	ask.Entrypoint, ask.Args = []string{program}, args
	ask.Env = slices.Concat(environ(p.Environ), c.variables(), ask.Env)
	ask.Mounts = append(mounts, ask.Mounts...)
	ask.Stdin, ask.Keep = true, false
	for _, m := range ask.Mounts {
		if m.ReadOnly || m.Source == "" { // or it is a volume
			continue
		}
		c.written = append(c.written, filepath.Clean(m.Source))
		if real, err := filepath.EvalSymlinks(m.Source); err == nil {
			c.written = append(c.written, real)
		}
	}

	return c, nil
}

// mounts returns the folders that the program finds at their own paths: the module's, and its own beside it.
func (p Program) mounts() (all []single.Mount, err error) {
	add := func(folder string, readOnly bool) {
		target, wrong := onWindows(folder)
		err = errors.Join(err, wrong)
		all = append(all, single.Mount{
			Source:   folder,
			Target:   target,
			ReadOnly: readOnly,
		})
	}

	module := moduleOf(p.Dir, p.lookup)
	add(module, isRoots(module))
	if own := filepath.Dir(p.Path); !isBelow(own, module) {
		add(own, true)
	}

	return all, err
}

// isRoots reports whether a folder is root's, of which a container gets nothing to write.
func isRoots(folder string) bool {
	info, err := os.Stat(folder)
	if err != nil {
		return false // who mounts it says so
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == 0
}

// lookup returns the value of a variable, "" without one.
func (p Program) lookup(name string) string {
	for _, line := range slices.Backward(p.Environ) {
		if k, v, ok := strings.Cut(line, "="); ok && k == name {
			return v
		}
	}
	return ""
}
