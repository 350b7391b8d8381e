package hcs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/stream"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wine"
)

// fakeEngine runs programs that do what a test tells them. It writes the report of mullion-run.exe.
type fakeEngine struct {
	mu         sync.Mutex
	containers map[string]*fakeContainer
	created    []engine.Container
	limits     []engine.Resources
	unread     map[string]int64
	pid        uint32
	// refuse, unless "", is what the report of the next program says.
	refuse string
}

type fakeContainer struct {
	spec   engine.Container
	ended  chan struct{}
	once   sync.Once
	exit   engine.Exit
	stdio  engine.IO
	report string
}

func (f *fakeEngine) Create(_ context.Context, c engine.Container) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.containers[c.ID] != nil {
		return fmt.Errorf("create %q: %w", c.ID, errdefs.ErrAlreadyExists)
	}
	f.containers[c.ID] = &fakeContainer{spec: c, ended: make(chan struct{})}
	f.created = append(f.created, c)
	return nil
}

// reportOf is the report that a command line names, on the machine.
func reportOf(workDir string, args []string) string {
	for i, a := range args {
		if a == "--report" {
			return filepath.Join(workDir, filepath.Base(args[i+1]))
		}
	}
	return ""
}

func (f *fakeEngine) begin(report string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pid += 32
	text := fmt.Sprintf("started %d\n", f.pid)
	if f.refuse != "" {
		text, f.refuse = f.refuse, ""
	}
	return os.WriteFile(report, []byte(text), 0o644)
}

func (f *fakeEngine) get(id string) (*fakeContainer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[id]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("container %q: %w", id, errdefs.ErrNotFound)
}

func (f *fakeEngine) Start(_ context.Context, id string, stdio engine.IO) (uint32, error) {
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
func (c *fakeContainer) end(linux uint32, windows string) {
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
	})
}

func (f *fakeEngine) Signal(_ context.Context, id string, signal unix.Signal, _ bool) error {
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

func (f *fakeEngine) Remove(_ context.Context, id string) error {
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
		}
	}
	return nil
}

func (f *fakeEngine) List(_ context.Context, key, value string) ([]engine.Info, error) {
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

func (f *fakeEngine) Wait(ctx context.Context, id string) (engine.Exit, error) {
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

// StartExec runs a program that passes its input on to its output, and ends with it.
func (f *fakeEngine) StartExec(_ context.Context, id string, x engine.ExecSpec, stdio engine.IO) error {
	c, err := f.get(id)
	if err != nil {
		return err
	}
	one := &fakeContainer{report: reportOf(c.spec.WorkDir, x.Args), ended: make(chan struct{})}
	f.mu.Lock()
	f.containers[id+"/"+x.ID] = one
	f.mu.Unlock()
	out, err := os.OpenFile(stdio.Stdout, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	go func() {
		defer out.Close()
		if stdio.Stdin == "" {
			<-one.ended
			return
		}
		in, err := os.OpenFile(stdio.Stdin, os.O_RDONLY, 0)
		if err == nil {
			_, err = io.Copy(out, in)
			_ = in.Close()
		}
		if err == nil {
			one.end(7, "519")
		}
	}()
	return f.begin(one.report)
}

func (f *fakeEngine) WaitExec(ctx context.Context, id, exec string) (engine.Exit, error) {
	return f.Wait(ctx, id+"/"+exec)
}

func (f *fakeEngine) KillExec(ctx context.Context, id, exec string) error {
	return f.Signal(ctx, id+"/"+exec, unix.SIGKILL, true)
}

func (f *fakeEngine) EndExec(ctx context.Context, id, exec string) error {
	return f.Remove(ctx, id+"/"+exec)
}

func (f *fakeEngine) ForgetExec(context.Context, string, string) error                 { return nil }
func (f *fakeEngine) CloseExecStdin(context.Context, string, string)                   {}
func (f *fakeEngine) ResizeExec(context.Context, string, string, uint16, uint16) error { return nil }

func (f *fakeEngine) CloseStdin(context.Context, string) error             { return nil }
func (f *fakeEngine) Resize(context.Context, string, uint16, uint16) error { return nil }
func (f *fakeEngine) MakeWorkDir(dir string) error                         { return os.MkdirAll(dir, 0o755) }

func (f *fakeEngine) RemoveWorkDir(dir string) error { return os.RemoveAll(dir) }

func (f *fakeEngine) Update(_ context.Context, _ string, r engine.Resources) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limits = append(f.limits, r)
	return nil
}

func (f *fakeEngine) UnreadOf(_ context.Context, id string, _ int64) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unread[id], nil
}

// ScratchRegistry reads the files that a test has put into the scratch; those with which a container begins are empty.
func (f *fakeEngine) ScratchRegistry(scratch string, layers []*os.File, user string) (c wine.RegistryChanges, err error) {
	c = wine.RegistryChanges{Before: wine.Registry{}, After: wine.Registry{}, System: wine.Registry{}, User: user}
	for _, name := range []string{wine.MachineHive, wine.DefaultHive, wine.UserHive} {
		c.System[name], c.Before[name], c.After[name] = noRegistry, noRegistry, noRegistry
		if text, err := os.ReadFile(filepath.Join(scratch, "fs", name)); err == nil {
			c.After[name] = string(text)
		}
	}
	if len(layers) == 0 {
		err = errors.New("no layers")
	}
	return c, err
}

// noRegistry is a file of a registry without keys.
const noRegistry = "WINE REGISTRY Version 2\n;; All keys\n\n#arch=win64\n"

func (f *fakeEngine) Usage(context.Context, string) (engine.Usage, error) {
	return engine.Usage{Commit: 42}, nil
}

// host is a service with a drive that has one layer and a scratch.
type host struct {
	*Service
	engine *fakeEngine
	drive  string
	volume string // of the scratch
	config Config
	stop   func()
}

// begin starts the service, again after stop.
func (h *host) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := New(ctx, h.config)
	if err != nil {
		t.Fatal(err)
	}
	h.Service = s
	h.stop = func() { cancel(); s.Close() }
}

const (
	baseLayer   = `C:\layers\base`
	scratchPath = `C:\layers\scratch`
)

func newHost(t *testing.T) *host {
	t.Helper()
	dir := t.TempDir()
	drive := filepath.Join(dir, "drive")
	for _, d := range []string{
		filepath.Join(drive, "layers/base/Files"), filepath.Join(dir, "system/windows/System32"), filepath.Join(dir, "run"),
	} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := &fakeEngine{containers: map[string]*fakeContainer{}}
	keeper, socket := t.Context(), filepath.Join(dir, "keeper.sock")
	h := &host{engine: f, drive: drive}
	h.config = Config{
		Node:        "win-1",
		StateDir:    filepath.Join(dir, "state"),
		RunDir:      filepath.Join(dir, "run"),
		Drive:       drive,
		Upper:       drive,
		SystemDrive: filepath.Join(dir, "system"),
		Engine:      f,
		Keeper: stream.NewClient(socket, func(context.Context) error {
			go func() { _ = stream.Serve(keeper, socket) }()
			return nil
		}),
		OpenSource: func(path string) (*os.File, error) { return os.Open(filepath.Join(drive, filepath.Base(path))) },
		Network: func(_ context.Context, namespace string) (Network, error) {
			if namespace != "known" {
				return Network{}, refuse(NoElement, "no namespace %q", namespace)
			}
			return Network{NetNS: "/ns", DNS: cri.DNS{Servers: []string{"10.0.0.10"}}}, nil
		},
		Launch: cri.Launch{Init: "/init", Loader: []string{"wine"}, Run: `C:\run.exe`},
	}
	h.begin(t)
	t.Cleanup(func() { h.stop() })
	h.ok(t, "ProcessBaseImage", baseLayer)
	h.ok(t, "CreateSandboxLayer", scratchPath)
	h.ok(t, "ActivateLayer", scratchPath)
	h.ok(t, "PrepareLayer", scratchPath, baseLayer+"\n")
	h.volume = h.ok(t, "GetLayerMountPath", scratchPath).Text
	return h
}

func (h *host) ok(t *testing.T, function string, text ...string) Answer {
	t.Helper()
	a, err := h.Call(t.Context(), function, text)
	if err != nil {
		t.Fatalf("%s%q: %v", function, text, err)
	}
	return a
}

// refused makes a call that has to fail with a code.
func (h *host) refused(t *testing.T, want Code, function string, text ...string) {
	t.Helper()
	_, err := h.Call(t.Context(), function, text)
	var e *Error
	if !errors.As(err, &e) || e.Code != want {
		t.Errorf("%s%q: %v, want 0x%x", function, text, err, uint32(want))
	}
}

// event returns the next event.
func event(t *testing.T, s *Subscription) Event {
	t.Helper()
	select {
	case e, more := <-s.Events:
		if !more {
			t.Fatal("there are no more events")
		}
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event came")
	}
	return Event{}
}
