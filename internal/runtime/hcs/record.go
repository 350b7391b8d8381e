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
	}

	for _, p := range c.processes {
		k.Processes = append(k.Processes, p.kept())
	}

	if c.starting != nil {
		one := c.starting.kept()
		one.Starting = true
		k.Processes = append(k.Processes, one)
	}
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
	}

	if p.hasEnded() {
		p.mu.Lock()
		exit := p.exit
		p.mu.Unlock()
		k.Exit = &exit
	}

	return k
}

// takeOver takes over the compute systems of an earlier service. One that cannot be taken over is removed.
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
		dir := filepath.Join(s.cfg.RunDir, e.Name())
		err := s.recover(ctx, dir, infos)
		if err == nil {
			delete(infos, e.Name())
			continue
		}

		s.cfg.Log.Warn("compute system not taken over", "name", e.Name(), "error", err)
		if err := s.discard(ctx, e.Name(), infos); err != nil {
			return err
		}
		delete(infos, e.Name())
	}

	for name := range infos { // without a record
		if err := s.discard(ctx, name, infos); err != nil {
			return err
		}
	}

	return nil
}

// discard removes what is left of a compute system of an earlier service.
func (s *Service) discard(ctx context.Context, name string, infos map[string]engine.Info) error {
	var errs []error
	if _, made := infos[name]; made {
		errs = append(errs, s.cfg.Engine.Remove(ctx, name))
	}
	dir := filepath.Join(s.cfg.RunDir, name)
	errs = append(errs, s.cfg.Networks.Remove(ctx, guidOf(name)))
	errs = append(errs, s.cfg.Engine.RemoveWorkDir(filepath.Join(dir, "run")), os.RemoveAll(dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove compute system of an earlier service: %w", err)
	}
	return nil
}

// recover takes over a compute system by the record in its folder.
func (s *Service) recover(ctx context.Context, dir string, infos map[string]engine.Info) error {
	text, err := os.ReadFile(filepath.Join(dir, systemRecord))
	if err != nil {
		return err
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
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
		processes: map[uint32]*process{},
	}
	if c.engine != filepath.Base(dir) || k.Doc.Container == nil {
		return errors.New("the record is another one's")
	}

	if c.scratch, err = s.layers.take(k.Scratch, k.Doc.layers(), k.ID); err != nil {
		return err
	}
	if namespace := k.Doc.Container.Networking.Namespace; namespace != "" {
		if c.network, err = s.cfg.Networks.Find(ctx, namespace); err != nil && k.State == Created {
			return errors.Join(err, s.layers.release(c.scratch))
		}
	}

	info, there := infos[c.engine]
	if err := c.recoverProcesses(ctx, k, there && info.State != engine.Created); err != nil {
		return errors.Join(err, s.layers.release(c.scratch))
	}

	s.mu.Lock() // one that was taken over before may be ending
	s.systems[c.id] = c
	s.mu.Unlock()
	if there && k.State == Running {
		c.reopenPipes()
		if err := c.share(); err != nil {
			s.cfg.Log.Warn("programs of the host do not see the files of a container", "id", c.id, "error", err)
		}
	}

	if k.State == Stopped { // its end was under way
		c.end(0, false) //nolint:contextcheck // as the end of any
		return nil
	}
	s.background.Go(c.awaitHolders)
	return nil
}

// stateOf returns the state of a compute system that is taken over: one that was ending is ended again.
func stateOf(s State) State {
	if s == Stopped {
		return Running
	}
	return s
}

// recoverProcesses takes over the processes of a compute system, whose container runs or ran, or is not there.
func (c *computeSystem) recoverProcesses(ctx context.Context, k kept, there bool) error {
	s := c.service
	slices.SortFunc(k.Processes, func(a, b keptProcess) int { return int(a.PID) - int(b.PID) })
	for _, one := range k.Processes {
		if one.Starting {
			if err := c.undoStart(ctx, one, there); err != nil {
				return err
			}
			continue
		}

		p := &start{process: c.newProcess(one.Name, one.Carried, one.Terminal, one.First)}
		p.pid = one.PID
		c.processes[p.pid] = p.process
		if p.first {
			c.first, c.made = p.process, there
		}

		switch {
		case one.Exit != nil:
			p.tell(*one.Exit)
			continue
		case !there:
			p.finish(engine.Exit{Code: engine.UnknownExit, At: time.Now()}) //nolint:contextcheck // as the end of any
			continue
		}

		if err := s.openAgain(ctx, p.process); err != nil {
			return err
		}
		p.watchInput()
		s.background.Go(func() { //nolint:contextcheck // as the end of any
			if exit, ended := p.await(); ended {
				p.finish(exit)
			}
		})
	}

	return nil
}

// undoStart ends a process that was being started when the service ended: nobody knows of it.
func (c *computeSystem) undoStart(ctx context.Context, one keptProcess, there bool) error {
	p := c.newProcess(one.Name, one.Carried, one.Terminal, one.First)
	var err error
	switch {
	case one.First:
		err = errors.Join(c.service.cfg.Engine.Remove(ctx, c.engine), c.service.cfg.Engine.RemoveWorkDir(c.workDir()))
	case there:
		err = c.service.cfg.Engine.EndExec(ctx, c.engine, p.exec())
	}
	if err != nil {
		return fmt.Errorf("end a process that was being started: %w", err)
	}
	return p.streams.letGo(ctx)
}

// awaitHolders ends a compute system that was taken over, unless somebody opens it in time.
func (c *computeSystem) awaitHolders() {
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
