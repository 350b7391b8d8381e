package hcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/runtime/engine"
)

// A compute system outlives the service: what the engine does not know of it is in a record in its folder, which only
// root can write to. The next service takes it over, and gives those who had it open comeBack to open it again.
const (
	systemRecord = "system.json"
	comeBack     = 15 * time.Second
)

// kept is the record of a compute system.
type kept struct {
	ID        string
	Doc       system
	Scratch   string // its GUID
	State     State
	StartedAt time.Time
	Next      uint32
	Processes []keptProcess
	Done      []string `json:",omitempty"` // names of requests
}

// keptProcess is what a record has of a process.
type keptProcess struct {
	Name     string
	PID      uint32
	Carried  uint32
	Terminal bool
	First    bool
	// Starting says that nobody has been told of it yet.
	Starting bool        `json:",omitempty"`
	Exit     *exitStatus `json:",omitempty"`
	// Request is the name of the request that started it.
	Request string `json:",omitempty"`
}

// keep writes the record; c.mu is held.
func (c *computeSystem) keep() error {
	if c.gone {
		return nil
	}

	k := kept{
		ID:        c.id,
		Doc:       c.doc,
		Scratch:   c.scratch.guid,
		State:     c.state,
		StartedAt: c.startedAt,
		Next:      c.next,
		Done:      c.done,
	}

	for _, p := range c.processes {
		if p != c.starting {
			k.Processes = append(k.Processes, p.kept())
		}
	}

	if c.starting != nil {
		one := c.starting.kept()
		one.Starting = true
		k.Processes = append(k.Processes, one)
	}
	k.Processes = append(k.Processes, c.undoing...)
	if err := atomicfile.WriteJSON(filepath.Join(c.dir(), systemRecord), k); err != nil {
		return fmt.Errorf("keep compute system: %w", err)
	}

	return nil
}

func (p *process) kept() keptProcess {
	k := keptProcess{
		Name:     p.name,
		PID:      p.pid,
		Carried:  p.streams.set.Carried,
		Terminal: p.streams.terminal,
		First:    p.first,
		Request:  p.request,
	}

	if p.hasEnded() {
		p.mu.Lock()
		exit := p.exit
		p.mu.Unlock()
		k.Exit = &exit
	}

	return k
}

// errNothingLeft says that of a compute system of an earlier service there is nothing that could go on: it was never
// told to anybody, nobody can say what it is, or its scratch is gone.
var errNothingLeft = errors.New("nothing of it could go on")

// takeOver takes over the compute systems of an earlier service, and removes what is left of others. What fails and may
// pass, as on a busy machine, ends nothing that runs: it is tried again, by this service or, after an error, by the
// next one.
func (s *Service) takeOver(ctx context.Context) error {
	left, err := s.cfg.Engine.List(ctx, label, s.cfg.Node)
	if err != nil {
		return fmt.Errorf("look for compute systems of an earlier service: %w", err)
	}
	infos := map[string]engine.Info{}
	for _, info := range left {
		infos[info.ID] = info
	}

	entries, err := os.ReadDir(s.cfg.RunDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for compute systems of an earlier service: %w", err)
	}

	for _, e := range entries {
		err := s.recover(ctx, filepath.Join(s.cfg.RunDir, e.Name()), infos)
		if err != nil && !errors.Is(err, errNothingLeft) {
			return fmt.Errorf("take over compute system %q: %w", e.Name(), err)
		}
		if err != nil {
			s.cfg.Log.Warn("compute system not taken over", "name", e.Name(), "error", err)
			s.discard(ctx, e.Name())
		}
		delete(infos, e.Name())
	}

	for name := range infos { // without a record
		s.discard(ctx, name)
	}

	s.layers.sweep()
	return nil
}

// discard removes what is left of a compute system of an earlier service; what cannot be removed now, later.
func (s *Service) discard(ctx context.Context, name string) {
	dir := filepath.Join(s.cfg.RunDir, name)
	remove := func(ctx context.Context) error {
		return errors.Join(s.cfg.Engine.Remove(ctx, name), s.cfg.Networks.Remove(ctx, guidOf(name)),
			s.cfg.Engine.RemoveWorkDir(filepath.Join(dir, "run")), os.RemoveAll(dir))
	}
	err := remove(ctx)
	if err == nil {
		return
	}

	s.mu.Lock()
	s.leaving[name] = true
	s.mu.Unlock()
	s.background.Go(func() {
		s.again("remove compute system of an earlier service", name, err, remove)
		s.mu.Lock()
		delete(s.leaving, name)
		s.mu.Unlock()
	})
}

// againPause is the time between two tries of what has failed.
const againPause = 2 * time.Second

// again tries what has failed, of a compute system, until it is done or the service ends.
func (s *Service) again(what, name string, err error, do func(ctx context.Context) error) {
	for err != nil && s.life.Err() == nil {
		s.cfg.Log.Warn("will be tried again: "+what, "name", name, "error", err)
		select {
		case <-s.life.Done():
			return
		case <-time.After(againPause):
		}
		err = do(s.life)
	}
}

// readRecord reads the record of a compute system. Without one, or with one that says nothing, nobody knows what it
// was.
func (s *Service) readRecord(dir string) (k kept, err error) {
	text, err := os.ReadFile(filepath.Join(dir, systemRecord))
	if errors.Is(err, os.ErrNotExist) {
		return k, fmt.Errorf("%w: nobody was told of it", errNothingLeft)
	}
	if err != nil {
		return k, err
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return k, fmt.Errorf("%w: read its record: %w", errNothingLeft, err)
	}
	if s.nameOf(k.ID) != filepath.Base(dir) || k.Doc.Container == nil {
		return k, fmt.Errorf("%w: the record is another one's", errNothingLeft)
	}
	return k, nil
}

// recover takes over a compute system by the record in its folder.
func (s *Service) recover(ctx context.Context, dir string, infos map[string]engine.Info) error {
	k, err := s.readRecord(dir)
	if err != nil {
		return err
	}

	c := &computeSystem{
		service:   s,
		id:        k.ID,
		engine:    s.nameOf(k.ID),
		doc:       k.Doc,
		state:     stateOf(k.State),
		startedAt: k.StartedAt,
		next:      k.Next,
		done:      k.Done,
		processes: map[uint32]*process{},
	}

	info, made := infos[c.engine]
	if c.scratch, err = s.layers.take(k.Scratch, k.Doc.layers(), k.ID, made); err != nil {
		return fmt.Errorf("%w: %w", errNothingLeft, err)
	}
	if err := c.findNetwork(ctx); err != nil { // who starts its first process needs it
		s.cfg.Log.Warn("compute system has no network yet", "id", c.id, "error", err)
	}

	c.made = made
	c.recoverProcesses(ctx, k, made && info.State != engine.Created)
	s.mu.Lock() // one that was taken over before may be ending
	s.systems[c.id] = c
	s.mu.Unlock()
	if made && k.State == Running {
		c.reopenPipes()
		if err := c.share(); err != nil {
			s.cfg.Log.Warn("programs of the host do not see the files of a container", "id", c.id, "error", err)
		}
	}

	if k.State == Stopped { // its end was under way
		c.end(0, false) //nolint:contextcheck // as the end of any
		return nil
	}
	s.looks.Go(c.awaitHolders)
	return nil
}

// stateOf returns the state of a compute system that is taken over: one that was ending is ended again.
func stateOf(s State) State {
	if s == Stopped {
		return Running
	}
	return s
}

// recoverProcesses takes over the processes of a compute system, whose container runs or ran, or is not there. All are
// known before something is done about one: that writes the record.
func (c *computeSystem) recoverProcesses(ctx context.Context, k kept, there bool) {
	slices.SortFunc(k.Processes, func(a, b keptProcess) int { return int(a.PID) - int(b.PID) })
	for _, one := range k.Processes {
		if one.Starting {
			c.undoing = append(c.undoing, one)
			continue
		}
		p := c.newProcess(one.Name, one.Carried, one.Terminal, one.First)
		p.pid, p.request = one.PID, one.Request
		c.processes[p.pid] = p
		if p.first {
			c.first = p
		}
		if one.Exit != nil {
			p.tell(*one.Exit)
		}
	}

	for _, one := range slices.Clone(c.undoing) {
		c.undoStart(ctx, one, there)
	}
	for _, one := range k.Processes {
		switch {
		case one.Starting:
		case one.Exit == nil:
			c.goOn(&start{process: c.processes[one.PID]}, there)
		case k.State != Stopped: // else the end of the system does it
			c.releaseAgain(c.processes[one.PID])
		}
	}
}

// releaseAgain gives back what a process of an earlier service had whose end is recorded: that service may have ended
// before it did. What has been given back has no FIFOs any more. Connections to the output may be on their way as soon
// as programs can call the service.
func (c *computeSystem) releaseAgain(p *process) {
	s := c.service
	if _, err := os.Stat(p.streams.folder()); errors.Is(err, os.ErrNotExist) {
		return
	}

	s.background.Go(func() {
		select {
		case <-s.life.Done():
			return
		case <-s.cfg.Open:
		}
		_, err := s.ensureKeeper(s.life)
		if err = errors.Join(err, p.release(context.WithoutCancel(s.life))); err != nil {
			// Another keeper does not know of it, and so has nothing of it.
			s.cfg.Log.Info("process not wholly removed", "id", c.id, "pid", p.pid, "error", err)
		}
	})
}

// goOn serves a process of an earlier service, whose container runs or ran, or is not there.
func (c *computeSystem) goOn(p *start, there bool) {
	if !there {
		p.finish(engine.Exit{Code: engine.UnknownExit, At: time.Now()})
		return
	}

	c.service.background.Go(func() {
		c.service.openAgain(p.process)
		p.watchInput()
	})
	c.service.background.Go(func() {
		if exit, ended := p.await(); ended {
			p.finish(exit)
		}
	})
}

// undoStart ends a process that was being started when the service ended: nobody knows of it. Until then the compute
// system gets no other first process, and does not end.
func (c *computeSystem) undoStart(ctx context.Context, one keptProcess, there bool) {
	s, p := c.service, c.newProcess(one.Name, one.Carried, one.Terminal, one.First)
	undo := func(ctx context.Context) error {
		var err error
		switch {
		case one.First:
			err = errors.Join(s.cfg.Engine.Remove(ctx, c.engine), s.cfg.Engine.RemoveWorkDir(c.workDir()))
		case there:
			err = s.cfg.Engine.EndExec(ctx, c.engine, p.exec())
		}
		_, started := s.ensureKeeper(ctx)
		return errors.Join(err, started, p.streams.letGo(ctx))
	}

	err := undo(ctx)
	if err == nil {
		c.undone(one)
		return
	}

	if one.First {
		c.ending.Lock()
	}
	s.background.Go(func() {
		s.again("end a process that was being started", c.id, err, undo)
		if s.life.Err() == nil { // else the next service does it
			c.undone(one)
		}
		if one.First {
			c.ending.Unlock()
		}
	})
}

// undone keeps that a process has been ended that was being started.
func (c *computeSystem) undone(one keptProcess) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.undoing = slices.DeleteFunc(c.undoing, func(other keptProcess) bool { return other.Name == one.Name })
	if one.First {
		c.made = false
	}
	if err := c.keep(); err != nil {
		c.service.cfg.Log.Warn("end of a process not kept", "id", c.id, "error", err)
	}
}

// awaitHolders ends a compute system that was taken over, unless somebody opens it in time, which begins when programs
// can.
func (c *computeSystem) awaitHolders() {
	select {
	case <-c.service.life.Done():
		return
	case <-c.service.cfg.Open:
	}
	select {
	case <-c.service.life.Done():
		return
	case <-time.After(comeBack):
	}
	if c.doc.ShouldTerminateOnLastHandleClosed && !c.events.isHeard() {
		c.end(0, false)
	}
}

// newProcess returns a process that is not known yet.
func (c *computeSystem) newProcess(name string, carried uint32, terminal, first bool) *process {
	folder := filepath.Join(c.dir(), "io"+name)
	return &process{
		system:  c,
		name:    name,
		first:   first,
		streams: newStreams(c.service.cfg.Keeper, folder, c.engine+"/"+name, carried, terminal),
		ended:   make(chan struct{}),
	}
}

// exec returns what the engine calls a process that is not the first.
func (p *process) exec() string { return "p" + p.name }

// layers returns the paths of a document's layers.
func (s system) layers() (paths []string) {
	for _, l := range s.Container.Storage.Layers {
		paths = append(paths, l.Path)
	}
	return paths
}

func (c *computeSystem) nextName() string {
	c.next++
	return strconv.Itoa(int(c.next))
}
