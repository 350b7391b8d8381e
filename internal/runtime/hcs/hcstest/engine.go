// Package hcstest has an engine of containers for tests of the Host Compute Service: its containers are no processes of
// Linux, and have streams as containerd's shim gives them. It owns no test.
package hcstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wine"
)

// sigkilled is how Linux says that a process was killed.
const sigkilled = 128 + 9

// Engine runs programs that do what a test tells them: the first one of a container writes "hello" and waits, later
// ones pass their input on to their output. It writes the report of mullion-run.exe.
type Engine struct {
	mu         sync.Mutex
	containers map[string]*container
	pid        uint32
	// Created are the containers that were made, in their order, and Limited the limits that were set later.
	Created []engine.Container
	Limited []engine.Resources
	// Unread is how much waits in a container's sockets.
	Unread map[string]int64
	// Files is what the machine sees of a container's drive.
	Files string
	// Listed is what a container says of its processes, and ListCode the exit code of the program that does.
	Listed   string
	ListCode uint32
	// Refuse, unless "", is what the report of the next program says.
	Refuse    string
	forgotten []string
	// failing is how often a method fails from now on, by its name.
	failing map[string]int
}

// Fail has a method, of List, Remove and EndExec, fail so often, as on a machine that is too busy.
func (f *Engine) Fail(method string, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing == nil {
		f.failing = map[string]int{}
	}
	f.failing[method] = times
}

// fails is the error of a method that fails this time.
func (f *Engine) fails(method string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing[method] == 0 {
		return nil
	}
	f.failing[method]--
	return fmt.Errorf("%s: %w", method, context.DeadlineExceeded)
}

// New returns an engine without containers.
func New() *Engine { return &Engine{containers: map[string]*container{}} }

// Count returns how many containers there are.
func (f *Engine) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.containers)
}

// Hoard has so much wait in the sockets of one container.
func (f *Engine) Hoard(id string, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Unread = map[string]int64{id: bytes}
}

type container struct {
	spec   engine.Container
	ended  chan struct{}
	once   sync.Once
	exit   engine.Exit
	stdio  engine.IO
	input  *os.File // what the engine holds of a further program's
	report string
}

// Create notes a container.
func (f *Engine) Create(_ context.Context, c engine.Container) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.containers[c.ID] != nil {
		return fmt.Errorf("create %q: %w", c.ID, errdefs.ErrAlreadyExists)
	}
	f.containers[c.ID] = &container{spec: c, ended: make(chan struct{})}
	f.Created = append(f.Created, c)
	return nil
}

// reportOf returns the report that a command line names, on the machine.
func reportOf(workDir string, args []string) string {
	for i, a := range args {
		if a == "--report" {
			return filepath.Join(workDir, filepath.Base(args[i+1]))
		}
	}
	return ""
}

func (f *Engine) begin(report string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pid += 32
	text := fmt.Sprintf("started %d\n", f.pid)
	if f.Refuse != "" {
		text, f.Refuse = f.Refuse, ""
	}
	return os.WriteFile(report, []byte(text), 0o644)
}

func (f *Engine) get(id string) (*container, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[id]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("container %q: %w", id, errdefs.ErrNotFound)
}

// Start has a container say hello, and run until it is ended.
func (f *Engine) Start(_ context.Context, id string, stdio engine.IO) (uint32, error) {
	c, err := f.get(id)
	if err != nil {
		return 0, err
	}
	c.stdio, c.report = stdio, reportOf(c.spec.WorkDir, c.spec.Args)
	// As containerd's shim, it has the FIFOs open as long as the program runs.
	out, err := os.OpenFile(stdio.Stdout, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}

	if _, err := io.WriteString(out, "hello"); err != nil {
		return 0, err
	}
	go func() {
		<-c.ended
		_ = out.Close()
	}()
	return 1, f.begin(c.report)
}

// end ends the first program of a container with an exit code of Windows.
func (c *container) end(linux uint32, windows string) {
	c.once.Do(func() {
		if windows != "" {
			f, err := os.OpenFile(c.report, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, _ = io.WriteString(f, "exited "+windows+"\n")
				_ = f.Close()
			}
		}
		c.exit = engine.Exit{Code: linux, At: time.Now()}
		close(c.ended)
		if c.input != nil {
			_ = c.input.Close() // it may be closed already
		}
	})
}

// Signal ends the first program of a container, or a further one by its name; one that is gone is no error.
func (f *Engine) Signal(_ context.Context, id string, signal unix.Signal, _ bool) error {
	c, err := f.get(id)
	if err != nil {
		return nil //nolint:nilerr // as the engine's
	}
	switch signal {
	case unix.SIGKILL:
		c.end(sigkilled, "")
	case unix.SIGTERM:
		c.end(1, "3221225786")
	}
	return nil
}

// Remove ends a container with its programs, and forgets it.
func (f *Engine) Remove(_ context.Context, id string) error {
	if err := f.fails("Remove"); err != nil {
		return err
	}
	c, err := f.get(id)
	if err != nil {
		return nil
	}
	c.end(sigkilled, "")
	f.mu.Lock()
	defer f.mu.Unlock()

	delete(f.containers, id)
	for name, other := range f.containers {
		if strings.HasPrefix(name, id+"/") {
			other.end(sigkilled, "")
			delete(f.containers, name)
		}
	}

	return nil
}

// List returns the containers with a label.
func (f *Engine) List(_ context.Context, key, value string) ([]engine.Info, error) {
	if err := f.fails("List"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []engine.Info
	for id, c := range f.containers {
		if c.spec.Labels[key] == value {
			all = append(all, engine.Info{ID: id, State: engine.Running})
		}
	}
	return all, nil
}

// Wait waits for the end of a container, or of a further program by its name.
func (f *Engine) Wait(ctx context.Context, id string) (engine.Exit, error) {
	c, err := f.get(id)
	if err != nil {
		return engine.Exit{}, err
	}
	select {
	case <-c.ended:
		return c.exit, nil
	case <-ctx.Done():
		return engine.Exit{}, ctx.Err()
	}
}

// Drive opens the folder that a test has for the drive of a container.
func (f *Engine) Drive(string) (*os.File, error) { return os.Open(f.Files) }

// Exec runs a program that lists the processes of a container.
func (f *Engine) Exec(_ context.Context, id string, x engine.ExecSpec) (engine.Exit, error) {
	c, err := f.get(id)
	if err != nil {
		return engine.Exit{}, err
	}
	return engine.Exit{Code: f.ListCode}, os.WriteFile(reportOf(c.spec.WorkDir, x.Args), []byte(f.Listed), 0o644)
}

// StartExec runs a program that passes its input on to its output, and ends with it.
func (f *Engine) StartExec(_ context.Context, id string, x engine.ExecSpec, stdio engine.IO) error {
	c, err := f.get(id)
	if err != nil {
		return err
	}

	one := &container{report: reportOf(c.spec.WorkDir, x.Args), ended: make(chan struct{})}
	out, err := os.OpenFile(stdio.Stdout, os.O_RDWR, 0)
	if err != nil {
		return err
	}

	var in *os.File
	if stdio.Stdin != "" {
		// As containerd's shim, which holds the input open until it is told to close it: it outlives a keeper.
		if one.input, err = os.OpenFile(stdio.Stdin, os.O_RDWR, 0); err != nil {
			return errors.Join(err, out.Close())
		}
		if in, err = os.OpenFile(stdio.Stdin, os.O_RDONLY, 0); err != nil {
			return errors.Join(err, out.Close(), one.input.Close())
		}
	}

	f.mu.Lock()
	f.containers[id+"/"+x.ID] = one
	f.mu.Unlock()
	go func() {
		defer out.Close()
		if in == nil {
			<-one.ended
			return
		}

		_, err := io.Copy(out, in)
		_ = in.Close()
		if err == nil {
			one.end(7, "519")
		}
	}()

	return f.begin(one.report)
}

// WaitExec waits for the end of a further program.
func (f *Engine) WaitExec(ctx context.Context, id, exec string) (engine.Exit, error) {
	return f.Wait(ctx, id+"/"+exec)
}

// KillExec ends a further program.
func (f *Engine) KillExec(ctx context.Context, id, exec string) error {
	return f.Signal(ctx, id+"/"+exec, unix.SIGKILL, true)
}

// EndExec ends a further program, and forgets it.
func (f *Engine) EndExec(ctx context.Context, id, exec string) error {
	if err := f.fails("EndExec"); err != nil {
		return err
	}
	return f.Remove(ctx, id+"/"+exec)
}

// ForgetExec notes that it is called: a program that has ended stays known.
func (f *Engine) ForgetExec(_ context.Context, _, exec string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgotten = append(f.forgotten, exec)
	return nil
}

// Forgotten returns the further programs that are to be forgotten.
func (f *Engine) Forgotten() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.forgotten)
}

// CloseExecStdin closes the input of a further program, as far as the engine holds it.
func (f *Engine) CloseExecStdin(_ context.Context, id, exec string) {
	if one, err := f.get(id + "/" + exec); err == nil && one.input != nil {
		_ = one.input.Close() // it may be closed already
	}
}

// ResizeExec does nothing: there are no terminals.
func (f *Engine) ResizeExec(context.Context, string, string, uint16, uint16) error { return nil }

// CloseStdin does nothing: a test closes the FIFO.
func (f *Engine) CloseStdin(context.Context, string) error { return nil }

// Resize does nothing: there are no terminals.
func (f *Engine) Resize(context.Context, string, uint16, uint16) error { return nil }

// MakeWorkDir makes a folder of the machine.
func (f *Engine) MakeWorkDir(dir string) error { return os.MkdirAll(dir, 0o755) }

// RemoveWorkDir removes a folder of the machine.
func (f *Engine) RemoveWorkDir(dir string) error { return os.RemoveAll(dir) }

// Update notes limits.
func (f *Engine) Update(_ context.Context, _ string, r engine.Resources) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Limited = append(f.Limited, r)
	return nil
}

// UnreadOf returns what a test has set.
func (f *Engine) UnreadOf(_ context.Context, id string, _ int64) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Unread[id], nil
}

// ScratchRegistry reads the files that a test has put into the scratch; those with which a container begins are empty.
func (f *Engine) ScratchRegistry(scratch string, layers []*os.File, user string) (c wine.RegistryChanges, err error) {
	c = wine.RegistryChanges{
		Before: wine.Registry{},
		After:  wine.Registry{},
		System: wine.Registry{},
		User:   user,
	}

	for _, name := range []string{wine.MachineHive, wine.DefaultHive, wine.UserHive} {
		c.System[name] = NoRegistry
		c.Before[name] = NoRegistry
		c.After[name] = NoRegistry
		if text, err := os.ReadFile(filepath.Join(scratch, "fs", name)); err == nil {
			c.After[name] = string(text)
		}
	}

	if len(layers) == 0 {
		err = errors.New("no layers")
	}
	return c, err
}

// NoRegistry is a file of a registry without keys.
const NoRegistry = "WINE REGISTRY Version 2\n;; All keys\n\n#arch=win64\n"

// Usage is the same of each container.
func (f *Engine) Usage(context.Context, string) (engine.Usage, error) {
	return engine.Usage{Commit: 42}, nil
}
