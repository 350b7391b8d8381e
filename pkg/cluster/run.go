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
	"strconv"
	"strings"
	"sync"
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

// errGoesOn is the error of a run of mullion that did not end with its context.
var errGoesOn = errors.New("mullion goes on")

// run runs mullion to its end. When the context is over, mullion is told to put things back, and is waited for. Where
// sudo runs it and it cannot be told, or is not done in time, the error is errGoesOn, and no more is written to c.out.
func (p *Provider) run(ctx context.Context, c command) error {
	program, err := exec.LookPath(p.program)
	if err != nil {
		return fmt.Errorf("find mullion: %w", err)
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}

	line, err := p.asRoot(append([]string{program}, c.args...))
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	said := &tail{}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdin, cmd.Stderr = c.in, said
	cmd.WaitDelay = stopTimeout
	out := &gate{to: c.out}
	if c.out != nil {
		cmd.Stdout = out
	}

	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()

	select {
	case err = <-done:
	case <-ctx.Done():
		err = p.stop(cmd.Process, done)
		out.shut()
		return errors.Join(context.Cause(ctx), err)
	}

	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return &Error{
			Command: line,
			Code:    ended.ExitCode(),
			Output:  said.String(),
		}
	}

	return err
}

// stop has a run of mullion put things back, and waits for its end.
func (p *Provider) stop(run *os.Process, done <-chan error) error {
	told := p.terminate(run)
	if told == nil {
		select {
		case err := <-done:
			return err
		case <-time.After(stopTimeout):
			told = fmt.Errorf("it has not ended in %v", stopTimeout)
		}
	}

	if p.root {
		return errors.Join(run.Kill(), <-done)
	}

	select {
	case err := <-done: // it has ended all the same
		return err
	default:
		return fmt.Errorf("%w: %w", errGoesOn, told)
	}
}

// terminate tells a run of mullion to end. A sudo that runs it is root's, so another one has to signal that. The second
// has a process group of its own, since sudo passes on no signal from the group that it is in (sudo(8), "Signal
// handling").
func (p *Provider) terminate(run *os.Process) error {
	if p.root {
		return run.Signal(syscall.SIGTERM)
	}
	line, err := p.asRoot([]string{"sh", "-c", `kill "$1"`, "sh", strconv.Itoa(run.Pid)})
	if err != nil {
		return err
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("tell it to end: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// gate passes on what is written to it until it is shut.
type gate struct {
	mu sync.Mutex
	to io.Writer
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.to.Write(p)
}

// shut has what comes now go nowhere: a program that writes goes on.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.to = io.Discard
}

// asRoot returns a command line by which root runs it.
func (p *Provider) asRoot(line []string) ([]string, error) {
	if p.root {
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
	line, err := p.asRoot([]string{"install", "-d", "-m", "0755", p.folder})
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
	line, err := p.asRoot([]string{"rmdir", "--ignore-fail-on-non-empty", p.folder})
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
