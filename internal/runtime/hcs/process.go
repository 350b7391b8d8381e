package hcs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
)

// aborted is the exit code of a process that was killed: ERROR_PROCESS_ABORTED, as HCS has it.
const aborted = 1067

// process is a process of a compute system.
type process struct {
	system  *computeSystem
	pid     uint32
	streams streams
	first   bool
	resize  chan [2]uint16
	events  broadcast
	// cancel kills a process that is not the first; ended is closed when it has ended.
	cancel func()
	ended  chan struct{}

	mu   sync.Mutex
	exit exitStatus
}

// exitStatus is what the event of a process' end says.
type exitStatus struct {
	ProcessID      uint32 `json:"ProcessId"`
	Exited         bool
	ExitCode       uint32
	LastWaitResult int32
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// start is a process that is being started.
type start struct {
	params processParameters
	uid    uint32
	name   string // of its files in the container's working folder
	env    []string
	*process
}

// file is the path on the machine of a file of the container's working folder, target the one in the container.
func (p *start) file(kind string) string   { return filepath.Join(p.system.workDir(), kind+p.name) }
func (p *start) target(kind string) string { return path.Join(engine.WorkDirTarget, kind+p.name) }

// createProcess starts a process, and returns when it runs. The error is Windows' if the program would not start.
func (c *computeSystem) createProcess(ctx context.Context, text string) (*process, error) {
	params, err := parseProcess(text)
	if err != nil {
		return nil, err
	}
	uid, err := cri.UserID(userOf(params.User))
	if err != nil {
		return nil, refuse(LogonFailure, "%v", err)
	}
	c.ending.Lock()
	defer c.ending.Unlock()
	c.mu.Lock()
	state, first := c.state, c.first == nil
	c.next++
	p := &start{params: params, uid: uid, name: strconv.Itoa(int(c.next))}
	over := !first && c.first.hasEnded()
	c.mu.Unlock()
	if state != Running || over {
		return nil, refuse(InvalidState, "compute system %q is %s, and has no processes", c.id, state)
	}
	p.process = &process{
		system:  c,
		first:   first,
		streams: newStreams(params),
		resize:  make(chan [2]uint16, 1),
		ended:   make(chan struct{}),
		cancel:  func() {},
	}
	p.env = slices.Clone(c.service.cfg.Launch.Env)
	if params.EmulateConsole {
		p.env = append(p.env, "TERM=xterm")
	}
	if first {
		err = c.startFirst(ctx, p)
	} else {
		err = c.startLater(p) //nolint:contextcheck // The program outlives the call.
	}
	if err != nil {
		return nil, err
	}
	if size := params.ConsoleSize; params.EmulateConsole && len(size) == 2 {
		p.setSize(ctx, size[1], size[0])
	}
	return p.process, nil
}

// userOf is the user that a process runs as: ContainerAdministrator, unless it says otherwise.
func userOf(name string) string {
	if name == "" {
		return "ContainerAdministrator"
	}
	return name
}

// program says how the program is started.
func (p *start) program() cri.Program {
	program := cri.Program{
		Report:      p.target("report-"),
		Env:         p.target("env-"),
		Dir:         folderOf(p.params.WorkingDirectory),
		CommandLine: p.params.CommandLine,
	}
	if p.first {
		program.Memory = p.system.doc.Container.resources().MemoryLimit
		program.Searches = p.system.resolver().Searches
	}
	return program
}

// writeEnv writes the environment. The folder is the container's, which may have put something in the file's place.
func (p *start) writeEnv() error {
	var env []string
	for name, value := range p.params.Environment {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL | unix.O_NOFOLLOW
	f, err := os.OpenFile(p.file("env-"), flags, 0o644)
	if err != nil {
		return fmt.Errorf("write environment: %w", err)
	}
	_, err = f.Write(cri.EnvFile(env))
	return errors.Join(err, f.Close())
}

// startFirst makes the container and starts its PID 1. If it returns an error, the container is not there.
func (c *computeSystem) startFirst(ctx context.Context, p *start) (err error) {
	s := c.service
	defer func() {
		if err != nil {
			p.streams.close()
			err = errors.Join(err, s.cfg.Engine.RemoveWorkDir(c.workDir()), os.RemoveAll(c.dir()))
		}
	}()
	if err := os.MkdirAll(c.dir(), 0o711); err != nil {
		return fmt.Errorf("make folder of compute system: %w", err)
	}
	if err := s.cfg.Engine.MakeWorkDir(c.workDir()); err != nil {
		return err
	}
	if err := p.writeEnv(); err != nil {
		return err
	}
	if err := c.make(ctx, s.cfg.Launch.FirstArguments(p.program()), p.env, p.uid, p.params.EmulateConsole); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.cfg.Engine.Remove(context.WithoutCancel(ctx), c.engine))
		}
	}()
	stdio, err := p.streams.connect(s.life, c.dir(), p.params.EmulateConsole, func() { //nolint:contextcheck // They outlive the call.
		if err := s.cfg.Engine.CloseStdin(context.WithoutCancel(s.life), c.engine); err != nil {
			s.cfg.Log.Debug("input not closed", "id", c.id, "error", err)
		}
	})
	if err != nil {
		return err
	}
	if _, err := s.cfg.Engine.Start(ctx, c.engine, stdio); err != nil {
		return err
	}
	linuxExit := make(chan engine.Exit, 1)
	s.background.Go(func() {
		exit, err := s.cfg.Engine.Wait(s.life, c.engine)
		if err != nil {
			exit = engine.Exit{Code: engine.UnknownExit, At: time.Now()}
		}
		linuxExit <- exit
		close(linuxExit)
	})
	return c.runs(p, linuxExit)
}

// startLater runs a program in the container.
func (c *computeSystem) startLater(p *start) error {
	s := c.service
	if err := p.writeEnv(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.life)
	p.cancel = cancel
	x := engine.ExecSpec{
		ID:       "p" + p.name,
		UID:      p.uid,
		Dir:      cri.Drive,
		Env:      p.env,
		Args:     s.cfg.Launch.Arguments(p.program()),
		FIFODir:  c.dir(),
		Terminal: p.params.EmulateConsole,
		Resize:   p.resize,
	}
	p.streams.give(&x)
	linuxExit := make(chan engine.Exit, 1)
	s.background.Go(func() {
		exit, err := s.cfg.Engine.Exec(ctx, c.engine, x)
		if err != nil {
			exit = engine.Exit{Code: sigkilled, At: time.Now()}
		}
		p.streams.close() // all of the output has been passed on
		linuxExit <- exit
		close(linuxExit)
	})
	return c.runs(p, linuxExit)
}

const (
	// sigkilled is how Linux says that a process was killed: 128 and the signal's number.
	sigkilled = 128 + 9
	// startTimeout is how long a program may take to start before it is believed to run: a loaded machine is slow.
	startTimeout = 20 * time.Second
)

// runs returns when a program that Linux has started runs on Windows, too. Then the process is known, and its end is
// told.
func (c *computeSystem) runs(p *start, linuxExit <-chan engine.Exit) error {
	outcome, exit, err := awaitOutcome(p.file("report-"), linuxExit)
	if err == nil && outcome.Failed {
		err = refuse(ofWindows(outcome.Code), "start %q: %s", p.params.CommandLine, outcome.Message)
	}
	if err != nil {
		p.cancel()
		p.streams.close()
		p.removeFiles()
		return err
	}
	c.mu.Lock()
	p.pid = outcome.PID
	for p.pid == 0 || c.processes[p.pid] != nil { // a program says its own
		p.pid = p.pid + 4
	}
	c.processes[p.pid] = p.process
	if p.first {
		c.first, c.made = p.process, true
	}
	c.mu.Unlock()
	c.service.background.Go(func() {
		if exit == nil {
			e := <-linuxExit
			exit = &e
		}
		p.finish(*exit)
	})
	return nil
}

// awaitOutcome waits until a program says how its start went, or has ended; then exit is not nil. One that says nothing
// for long is believed to run.
func awaitOutcome(file string, linuxExit <-chan engine.Exit) (o cri.Outcome, exit *engine.Exit, err error) {
	late := time.After(startTimeout)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if o, err = cri.ReadOutcome(file); err != nil || o.Started || o.Failed || o.Exited {
			return o, nil, err
		}
		select {
		case e := <-linuxExit:
			o, err = cri.ReadOutcome(file) // it may have said something since
			if err == nil && !o.Started && !o.Failed && !o.Exited {
				err = refuse(Fail, "the program ended with %d before it ran", e.Code)
			}
			return o, &e, err
		case <-late:
			return cri.Outcome{}, nil, nil
		case <-tick.C:
		}
	}
}

// removeFiles removes what a process had in the container's working folder, which goes with the container at the
// latest.
func (p *start) removeFiles() {
	_, _ = os.Remove(p.file("report-")), os.Remove(p.file("env-"))
}

// finish records how a process ended, and tells it.
func (p *start) finish(exit engine.Exit) {
	outcome, err := cri.ReadOutcome(p.file("report-"))
	if err != nil {
		p.system.service.cfg.Log.Warn("report of a process not read", "id", p.system.id, "error", err)
	}
	code := exit.Code
	switch {
	case exit.Code == sigkilled:
		code = aborted
	case outcome.Exited:
		code = outcome.Code
	}
	p.cancel()
	p.streams.end()
	p.removeFiles()
	p.mu.Lock()
	p.exit = exitStatus{ProcessID: p.pid, Exited: true, ExitCode: code}
	status := p.exit
	p.mu.Unlock()
	close(p.ended)
	p.events.send(Event{Type: ProcessExited, Text: encodeEvent(status)})
	p.events.close()
}

// process returns a process of a compute system by its id, which is a number.
func (c *computeSystem) process(number string) (*process, error) {
	pid, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return nil, refuse(InvalidArg, "%q is no process id", number)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.processes[uint32(pid)]; p != nil {
		return p, nil
	}
	return nil, refuse(NoElement, "compute system %q has no process %d", c.id, pid)
}

// terminate kills a process. That of the first one is the end of all others: it is PID 1's program.
func (p *process) terminate(ctx context.Context) error {
	if p.hasEnded() {
		return refuse(ProcessStopped, "process %d has ended", p.pid)
	}
	if !p.first {
		p.cancel()
		return nil
	}
	return p.system.service.cfg.Engine.Signal(ctx, p.system.engine, unix.SIGKILL, true)
}

// signal delivers a control event to the first process.
func (p *process) signal(ctx context.Context, text string) error {
	var options signalOptions
	if err := parse(text, &options); err != nil {
		return err
	}
	var signal unix.Signal
	switch strings.ToLower(options.Signal) {
	case "ctrlshutdown", "ctrllogoff", "ctrlclose":
		signal = unix.SIGTERM
	case "ctrlc":
		signal = unix.SIGINT
	case "ctrlbreak":
		signal = unix.SIGQUIT
	default:
		return refuse(InvalidArg, "there is no signal %q", options.Signal)
	}
	switch {
	case p.hasEnded():
		return refuse(ProcessStopped, "process %d has ended", p.pid)
	case !p.first:
		return refuse(NotImplemented, "only the first process of a compute system gets control events")
	}
	return p.system.service.cfg.Engine.Signal(ctx, p.system.engine, signal, false)
}

// modify changes a running process.
func (p *process) modify(ctx context.Context, text string) error {
	var m processModification
	if err := parse(text, &m); err != nil {
		return err
	}
	switch {
	case m.Operation == "ConsoleSize" && m.ConsoleSize != nil:
		p.setSize(ctx, m.ConsoleSize.Width, m.ConsoleSize.Height)
		return nil
	case m.Operation == "CloseHandle" && m.CloseHandle != nil && strings.EqualFold(m.CloseHandle.Handle, "StdIn"):
		p.streams.in.endInput()
		return nil
	}
	return refuse(NotSupported, "the modification %q of a process is not supported", m.Operation)
}

// setSize sets the size of a process' console.
func (p *process) setSize(ctx context.Context, width, height uint16) {
	if !p.first {
		select {
		case <-p.resize: // nobody has taken the former one yet
		default:
		}
		p.resize <- [2]uint16{width, height}
		return
	}
	if err := p.system.service.cfg.Engine.Resize(ctx, p.system.engine, width, height); err != nil {
		p.system.service.cfg.Log.Debug("console not resized", "id", p.system.id, "error", err)
	}
}

// status is what HcsGetProcessProperties answers.
func (p *process) status() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	status := p.exit
	status.ProcessID = p.pid
	return encode(status)
}
