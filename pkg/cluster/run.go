package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// command is a run of mullion.
type command struct {
	args []string
	in   io.Reader
	out  io.Writer
}

// Error is the error of a run of mullion that did not do what it was to.
type Error struct {
	// Command is the command line.
	Command []string
	// Code is its exit code, which `mullion --help` and the guide explain; below 0 a signal ended it.
	Code int
	// Output is the end of what it said on standard error.
	Output string
}

// Error has the command, the code and what it said.
func (e *Error) Error() string {
	return fmt.Sprintf("`%s` ended with %d: %s", strings.Join(e.Command, " "), e.Code, strings.TrimSpace(e.Output))
}

// stopTimeout is how long mullion has to put things back when its context is over.
const stopTimeout = 2 * time.Minute

// run runs mullion to its end.
func (p *Provider) run(ctx context.Context, c command) error {
	program, err := exec.LookPath(p.program)
	if err != nil {
		return fmt.Errorf("find mullion: %w", err)
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	line, err := asRoot(append([]string{program}, c.args...))
	if err != nil {
		return err
	}
	said := &tail{}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, c.out, said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), err)
	case errors.As(err, &ended):
		return &Error{Command: line, Code: ended.ExitCode(), Output: said.String()}
	}
	return err
}

// asRoot is a command line by which root runs it.
func asRoot(line []string) ([]string, error) {
	if os.Geteuid() == 0 {
		return line, nil
	}
	sudo, err := exec.LookPath("sudo")
	if err != nil {
		return nil, errors.New("clusters are made by root, and there is no sudo")
	}
	return append([]string{sudo, "-n", "--"}, line...), nil
}

// makeFolder makes the folder of the clusters' data, which everybody can list: those of the clusters are root's.
func (p *Provider) makeFolder(ctx context.Context) error {
	if info, err := os.Stat(p.folder); err == nil && info.IsDir() {
		return nil
	}
	line, err := asRoot([]string{"install", "-d", "-m", "0755", p.folder})
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("make folder %q: %w: %s", p.folder, err, bytes.TrimSpace(out))
	}
	return nil
}

// leaveFolder removes the folder of the clusters' data when there is none left.
func (p *Provider) leaveFolder() error {
	if entries, err := os.ReadDir(p.folder); err != nil || len(entries) > 0 {
		return nil // it is gone, or others are in it
	}
	line, err := asRoot([]string{"rmdir", "--ignore-fail-on-non-empty", p.folder})
	if err != nil {
		return err
	}
	out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
	if _, gone := os.Stat(p.folder); err != nil && !errors.Is(gone, os.ErrNotExist) {
		return fmt.Errorf("remove folder %q: %w: %s", p.folder, err, bytes.TrimSpace(out))
	}
	return nil
}

// mostKept is how much is kept of what a program says, in bytes.
const mostKept = 16 << 10

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > mostKept {
		t.b = append([]byte{}, t.b[len(t.b)-mostKept:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }

// mostLine bounds a line, in bytes; what is longer is left out.
const mostLine = 1 << 20

// lines calls each with every line that is written to it.
type lines struct {
	each    func(line []byte)
	rest    []byte
	tooLong bool
}

func (l *lines) Write(p []byte) (int, error) {
	for part := p; len(part) > 0; {
		line, after, whole := bytes.Cut(part, []byte("\n"))
		if len(l.rest)+len(line) > mostLine {
			l.rest, l.tooLong = nil, true
		}
		if !l.tooLong {
			l.rest = append(l.rest, line...)
		}
		if whole {
			if !l.tooLong {
				l.each(l.rest)
			}
			l.rest, l.tooLong = nil, false
		}
		part = after
	}
	return len(p), nil
}

// writeOwn writes a file that only its owner reads, whole or not at all.
func writeOwn(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // its mode is 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
