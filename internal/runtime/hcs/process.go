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
	name    string // of its files in the container's working folder
	pid     uint32
	streams *streams
	first   bool
	request string // the name of the one that started it
	events  broadcast
	ended   chan struct{} // closed when it has ended

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
	env    []string
	*process
}

// file returns the path on the machine of a file of the container's working folder, target the one in the container.
func (p *start) file(kind string) string   { return filepath.Join(p.system.workDir(), kind+p.name) }
func (p *start) target(kind string) string { return path.Join(engine.WorkDirTarget, kind+p.name) }

// createProcess starts a process, and returns when it runs. The error is Windows' if the program would not start. A
// request that has started one gets that.
func (c *computeSystem) createProcess(ctx context.Context, request, text string) (*process, error) {
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
	if p := c.madeBy(request); p != nil {
		return p, nil
	}
	if err := c.allows(uid, params.User); err != nil {
		return nil, err
	}

	p := &start{
		params: params,
		uid:    uid,
		env:    slices.Clone(c.service.cfg.Launch.Env),
	}
	if params.EmulateConsole {
		p.env = append(p.env, "TERM=xterm")
	}

	if err := c.begin(p, request); err != nil {
		return nil, err
	}
	if p.first {
		err = c.startFirst(ctx, p)
	} else {
		err = c.startLater(ctx, p)
	}

	if err = errors.Join(err, c.begun()); err != nil {
		return nil, err
	}
	if size := params.ConsoleSize; params.EmulateConsole && len(size) == 2 && size[0] > 0 && size[1] > 0 {
		p.setSize(ctx, size[1], size[0])
	}
	return p.process, nil
}

// allows refuses a user other than that of the first process: Wine runs all programs of a prefix as one user.
func (c *computeSystem) allows(uid uint32, name string) error {
	c.mu.Lock()
	begun := c.first != nil
	c.mu.Unlock()
	if !begun {
		return nil
	}

	user, err := c.scratch.userOf()
	if err != nil {
		return err
	}
	if !strings.EqualFold(user, engine.UserName(uid)) {
		return refuse(NotSupported, "the programs of the container run as %s: none runs as %q beside them", user, userOf(name))
	}
	return nil
}

// begin makes a process that is going to be started, and keeps that it is.
func (c *computeSystem) begin(p *start, request string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Running || (c.first != nil && c.first.hasEnded()) {
		return refuse(InvalidState, "compute system %q is %s, and has no processes", c.id, c.state)
	}
	p.process = c.newProcess(c.nextName(), carriedOf(p.params), p.params.EmulateConsole, c.first == nil)
	p.request = request
	c.starting = p.process
	if err := c.keep(); err != nil {
		c.starting = nil
		return err
	}
	return nil
}

// begun keeps what has come of the start.
func (c *computeSystem) begun() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting = nil
	return c.keep()
}

// userOf returns the user that a process runs as: ContainerAdministrator, unless it says otherwise.
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
		program.Settle = true // the scratch is the container's also later, and may be committed
		program.Memory = p.system.doc.Container.resources().MemoryLimit
		program.Searches = p.system.resolver().Searches
		program.Pipes = p.system.doc.Container.pipes()
	}
	return program
}

// refusal is the error of a program that did not start, or is known not to; nil: it may.
func (p *start) refusal(o cri.Outcome) error {
	if !o.Failed {
		return nil
	}
	line := p.params.CommandLine
	if len(line) > mostShown {
		line = line[:mostShown] + "…"
	}
	return refuse(ofWindows(o.Code), "start %q: %s", line, o.Message)
}

// mostShown is how much of a command line an error has, in bytes.
const mostShown = 1024

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
	later := context.WithoutCancel(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.streams.letGo(later), s.cfg.Engine.RemoveWorkDir(c.workDir()))
		}
	}()

	if err := c.findNetwork(ctx); err != nil {
		return err
	}
	if err := p.refusal(s.cfg.Launch.Foresee(p.program())); err != nil {
		return err
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
			err = errors.Join(err, s.cfg.Engine.Remove(later, c.engine))
		}
	}()
	if err := s.openStreams(ctx, p.process); err != nil {
		return err
	}
	if err := c.openPipes(engine.UserName(p.uid)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.closePipes()
		}
	}()

	if _, err := s.cfg.Engine.Start(ctx, c.engine, p.streams.io()); err != nil {
		return err
	}
	if err := c.share(); err != nil { // the container has no need of it
		s.cfg.Log.Warn("programs of the host do not see the files of a container", "id", c.id, "error", err)
	}
	return c.runs(p) //nolint:contextcheck // The program outlives the call.
}

// startLater runs a program in the container.
func (c *computeSystem) startLater(ctx context.Context, p *start) (err error) {
	s := c.service
	later := context.WithoutCancel(ctx)
	defer func() {
		if err != nil {
			p.removeFiles()
			err = errors.Join(err, p.streams.letGo(later))
		}
	}()

	if err := p.refusal(s.cfg.Launch.Foresee(p.program())); err != nil {
		return err
	}
	if err := p.writeEnv(); err != nil {
		return err
	}
	if err := s.openStreams(ctx, p.process); err != nil {
		return err
	}

	err = s.cfg.Engine.StartExec(ctx, c.engine, engine.ExecSpec{
		ID:       p.exec(),
		UID:      p.uid,
		Dir:      cri.Drive,
		Env:      p.env,
		Args:     s.cfg.Launch.Arguments(p.program()),
		Terminal: p.params.EmulateConsole,
	}, p.streams.io())
	if err != nil {
		return err
	}

	if err := c.runs(p); err != nil { //nolint:contextcheck // The program outlives the call.
		return errors.Join(err, s.cfg.Engine.EndExec(later, c.engine, p.exec()))
	}
	return nil
}

const (
	// sigkilled is how Linux says that a process was killed: 128 and the signal's number.
	sigkilled = 128 + 9
	// startTimeout is how long a program may take to start before it is believed to run: a loaded machine is slow.
	startTimeout = 20 * time.Second
)

// await returns how Linux says that a process ended; false: the service has ended before.
func (p *process) await() (engine.Exit, bool) {
	s := p.system.service
	var exit engine.Exit
	var err error
	if p.first {
		exit, err = s.cfg.Engine.Wait(s.life, p.system.engine)
	} else {
		exit, err = s.cfg.Engine.WaitExec(s.life, p.system.engine, p.exec())
	}
	switch {
	case s.life.Err() != nil:
		return exit, false
	case err != nil && p.first:
		return engine.Exit{Code: engine.UnknownExit, At: time.Now()}, true
	case err != nil:
		return engine.Exit{Code: sigkilled, At: time.Now()}, true
	}

	return exit, true
}

// watchInput makes the engine end a process' input when the keeper's end of it has ended.
func (p *process) watchInput() {
	s := p.system.service
	s.background.Go(func() {
		if p.streams.awaitInput(s.life) != nil {
			return
		}
		if !p.first {
			s.cfg.Engine.CloseExecStdin(s.life, p.system.engine, p.exec())
			return
		}
		if err := s.cfg.Engine.CloseStdin(s.life, p.system.engine); err != nil {
			s.cfg.Log.Debug("input not closed", "id", p.system.id, "error", err)
		}
	})
}

// runs returns when a program that Linux has started runs on Windows, too. Then the process is known, and its end is
// told.
func (c *computeSystem) runs(p *start) error {
	linuxExit := make(chan engine.Exit, 1)
	c.service.background.Go(func() {
		defer close(linuxExit)
		if exit, ended := p.await(); ended {
			linuxExit <- exit
		}
	})
	p.watchInput()
	outcome, exit, err := awaitOutcome(p.file("report-"), linuxExit)
	if err == nil {
		err = p.refusal(outcome)
	}
	if err != nil {
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
		if exit != nil {
			p.finish(*exit)
			return
		}
		// If the service ends before, it tells nothing: the next one does.
		if exit, ended := <-linuxExit; ended {
			p.finish(exit)
		}
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
		case e, ended := <-linuxExit:
			if !ended {
				return o, nil, refuse(NotReady, "the service ends")
			}
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

	p.removeFiles()
	s := p.system.service
	p.tell(exitStatus{
		ProcessID: p.pid,
		Exited:    true,
		ExitCode:  code,
	})
	p.system.mu.Lock()
	err = p.system.keep()
	p.system.mu.Unlock()
	if err = errors.Join(err, p.release(context.WithoutCancel(s.life))); err != nil {
		s.cfg.Log.Warn("process not wholly removed", "id", p.system.id, "error", err)
	}
}

// tell tells how a process ended.
func (p *process) tell(status exitStatus) {
	p.mu.Lock()
	p.exit = status
	p.mu.Unlock()
	close(p.ended)
	p.events.send(Event{Type: ProcessExited, Text: encodeEvent(status)})
	p.events.close()
}

// release gives back what a process that has ended had. The engine's shim drops what it still has of the output some
// seconds after it is told to forget the process, and so it is told when the reader, however slow, has taken that. What
// others that the process has started still write is read until then. If the service ends before, the next one does it.
func (p *process) release(ctx context.Context) error {
	s := p.system.service
	if p.first {
		return p.streams.endInput(ctx)
	}
	err := p.streams.awaitTaken(s.life) //nolint:contextcheck // as below
	switch {
	case s.life.Err() != nil:
		return nil
	case err != nil:
		s.cfg.Log.Debug("output not waited for", "id", p.system.id, "pid", p.pid, "error", err)
	}
	// The program is forgotten though the caller has gone.
	forgotten := s.cfg.Engine.ForgetExec(s.life, p.system.engine, p.exec()) //nolint:contextcheck // see above
	return errors.Join(forgotten, p.streams.letGo(ctx))
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
		return p.system.service.cfg.Engine.KillExec(ctx, p.system.engine, p.exec())
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
		return p.streams.endInput(ctx)
	}
	return refuse(NotSupported, "the modification %q of a process is not supported", m.Operation)
}

// setSize sets the size of a process' console.
func (p *process) setSize(ctx context.Context, width, height uint16) {
	s, resize := p.system.service, p.system.service.cfg.Engine.Resize
	if !p.first {
		resize = func(ctx context.Context, id string, width, height uint16) error {
			return s.cfg.Engine.ResizeExec(ctx, id, p.exec(), width, height)
		}
	}
	if err := resize(ctx, p.system.engine, width, height); err != nil {
		s.cfg.Log.Debug("console not resized", "id", p.system.id, "error", err)
	}
}

// status returns what HcsGetProcessProperties answers.
func (p *process) status() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	status := p.exit
	status.ProcessID = p.pid
	return encode(status)
}
