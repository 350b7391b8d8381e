package hcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
)

// State is where a compute system is in its life, by HCS' names.
type State string

// The states.
const (
	Created State = "Created"
	Running State = "Running"
	Stopped State = "Stopped"
)

// computeSystem is a compute system. Its fields below mu are guarded by it.
type computeSystem struct {
	service *Service
	id      string
	engine  string // its name in the engine
	doc     system
	scratch *scratch
	network Network

	events broadcast
	// ending is locked while the first process is made and while the system ends: one comes after the other.
	ending sync.Mutex

	mu        sync.Mutex
	state     State
	startedAt time.Time
	made      bool // the engine has its container
	gone      bool // its files are being removed
	processes map[uint32]*process
	first     *process
	starting  *process      // is being started: nobody knows of it
	undoing   []keptProcess // were being started in an earlier service
	next      uint32        // numbers files and FIFOs
	done      []string      // the names of the latest requests that changed it
	endPipes  func()        // ends serving the container's pipes; nil: they are not served
}

// create makes a compute system, which is not started.
func (s *Service) create(ctx context.Context, id, text string) (*computeSystem, error) {
	if id == "" || strings.ContainsRune(id, 0) || len(id) > 1024 {
		return nil, refuse(InvalidArg, "%q is no id of a compute system", id)
	}
	doc, err := parseSystem(text)
	if err != nil {
		return nil, err
	}

	if len(doc.Container.MappedPipes) > 0 && s.cfg.HostPipe == nil {
		return nil, refuse(NotSupported, "MappedPipes is not supported")
	}
	if c := s.madeBy(requestOf(ctx), id); c != nil {
		return c, nil
	}
	if err := s.reserve(id); err != nil {
		return nil, err
	}
	defer s.reserved(id)
	c := &computeSystem{
		service:   s,
		id:        id,
		engine:    s.nameOf(id),
		doc:       doc,
		state:     Created,
		processes: map[uint32]*process{},
	}

	if c.scratch, err = s.layers.use(doc.Container.Storage.Path, doc.layers(), id); err != nil {
		return nil, err
	}

	// The folder comes before the network: what a service leaves that is killed between them has a name.
	if err = os.MkdirAll(c.dir(), 0o711); err == nil {
		err = c.join(ctx)
	}
	if err == nil {
		c.did(requestOf(ctx)) // nobody else knows it yet
		err = c.keep()
	}
	if err != nil {
		left := c.leave(context.WithoutCancel(ctx))
		return nil, errors.Join(err, left, os.RemoveAll(c.dir()), s.layers.release(c.scratch))
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.systems[id] = c
	return c, nil
}

// reserve keeps an id for a compute system that is being made. Its files have names by it, which what is left of a
// former one may still have.
func (s *Service) reserve(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.systems[id] != nil || s.making[id] {
		return refuse(AlreadyExists, "there is a compute system %q", id)
	}
	if s.leaving[s.nameOf(id)] {
		return refuse(InvalidState, "a former compute system %q is being removed", id)
	}
	s.making[id] = true
	return nil
}

// reserved ends a reservation.
func (s *Service) reserved(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.making, id)
}

// start lets a compute system have processes.
func (c *computeSystem) start(request string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasDone(request) {
		return nil
	}
	if c.state != Created {
		return refuse(InvalidState, "compute system %q is %s", c.id, c.state)
	}
	c.state, c.startedAt = Running, time.Now()
	c.did(request)
	return c.keep()
}

// open holds a compute system; the result lets go of it.
func (c *computeSystem) open() (events *subscription, leave func()) {
	events = c.events.subscribe()
	return events, func() {
		left := c.events.leave(events)
		// When the service ends, all leave, and may come back to the next one.
		if left == 0 && c.doc.ShouldTerminateOnLastHandleClosed && c.service.life.Err() == nil {
			c.end(0, false)
		}
	}
}

// The ways in which a compute system ends.
const (
	gracefulExit = "GracefulExit"
	forcedExit   = "ForcedExit"
)

// shutDownTimeout is how long programs have after the control event of a shutdown.
const shutDownTimeout = 10 * time.Second

// shutDown asks the programs of a compute system to end, and ends it in the background.
func (c *computeSystem) shutDown() error { return c.stop(shutDownTimeout) }

// terminate ends a compute system in the background.
func (c *computeSystem) terminate() error { return c.stop(0) }

func (c *computeSystem) stop(patience time.Duration) error {
	c.mu.Lock()
	stopped := c.state == Stopped
	c.mu.Unlock()
	if stopped {
		return refuse(AlreadyStopped, "compute system %q has stopped", c.id)
	}
	c.end(patience, patience > 0)
	return nil
}

// end ends a compute system in the background: its programs have some time, and then are killed.
func (c *computeSystem) end(patience time.Duration, graceful bool) {
	c.service.background.Go(func() {
		ctx := context.WithoutCancel(c.service.life)
		c.ending.Lock()
		defer c.ending.Unlock()

		c.mu.Lock()
		first, over := c.first, c.state == Stopped
		c.state = Stopped
		var err error
		if !over {
			err = c.keep()
		}

		c.mu.Unlock()
		if over {
			return
		}
		if err != nil {
			c.service.cfg.Log.Warn("end of compute system not kept", "id", c.id, "error", err)
		}

		c.service.layers.leave(c.scratch)
		how := forcedExit
		if graceful {
			how = gracefulExit
		}

		if first != nil && patience > 0 && !first.hasEnded() {
			if err := c.service.cfg.Engine.Signal(ctx, c.engine, unix.SIGTERM, false); err != nil {
				c.service.cfg.Log.Warn("compute system not asked to end", "id", c.id, "error", err)
			}
			select {
			case <-first.ended:
			case <-time.After(patience):
				how = forcedExit
			}
		}

		c.remove(ctx)
		c.events.send(Event{Type: SystemExited, Text: encodeEvent(systemExit{ExitType: how})})
		c.events.close()
	})
}

// systemExit is what the event of a compute system's end says.
type systemExit struct {
	Status   int32
	ExitType string
}

// remove removes the container of a compute system with all that belongs to it.
func (c *computeSystem) remove(ctx context.Context) {
	s := c.service
	c.mu.Lock()
	c.gone = true
	made, processes := c.made, slices.Collect(maps.Values(c.processes))
	c.mu.Unlock()
	c.closePipes()
	errs := []error{c.unshare()}
	if made {
		errs = append(errs, s.cfg.Engine.Remove(ctx, c.engine))
	}

	for _, p := range processes {
		select {
		case <-p.ended:
		case <-s.life.Done(): // whose end nobody waits for
		}
		errs = append(errs, p.streams.letGo(ctx))
	}

	// The record goes last: by it the next service knows what is left to be removed.
	errs = append(errs, c.leave(ctx), s.cfg.Engine.RemoveWorkDir(c.workDir()), s.layers.release(c.scratch),
		os.RemoveAll(c.dir()))
	s.mu.Lock()
	delete(s.systems, c.id)
	s.mu.Unlock()
	if err := errors.Join(errs...); err != nil {
		s.cfg.Log.Error("compute system not wholly removed", "id", c.id, "error", err)
	}
}

// dir returns the folder of a compute system's files.
func (c *computeSystem) dir() string { return filepath.Join(c.service.cfg.RunDir, c.engine) }

// workDir returns the folder that the container's programs can write to.
func (c *computeSystem) workDir() string { return filepath.Join(c.dir(), "run") }

// resources returns the limits that a document sets.
func (c *container) resources() engine.Resources {
	return engine.Resources{
		CPUCount:    c.Processor.Count,
		CPUMaximum:  c.Processor.Maximum,
		CPUShares:   c.Processor.Weight,
		MemoryLimit: int64(c.Memory.SizeInMB << 20),
	}
}

// make makes the container, whose PID 1 runs a program for a user.
func (c *computeSystem) make(ctx context.Context, args, env []string, uid uint32, terminal bool) error {
	s, doc := c.service, c.doc.Container
	resolv := filepath.Join(c.dir(), "resolv.conf")
	text, err := cri.Resolver(c.resolver(), s.cfg.LinuxNames)
	if err != nil {
		return err
	}
	if err := os.WriteFile(resolv, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write DNS configuration: %w", err)
	}

	var mounts []engine.Mount
	defer func() {
		for _, m := range mounts {
			_ = m.Source.Close()
		}
	}()

	for _, m := range doc.MappedDirectories {
		source, err := s.cfg.OpenSource(m.HostPath)
		if err != nil {
			return refuse(PathNotFound, "map directory %q: %v", m.HostPath, err)
		}
		mounts = append(mounts, engine.Mount{
			Source:   source,
			Target:   m.ContainerPath,
			ReadOnly: m.ReadOnly,
		})
	}

	pipes, err := c.mountPipes()
	if err != nil {
		return err
	}
	layers, err := s.layers.openForContainer(c.scratch.lower)
	if err != nil {
		return err
	}
	defer closeAll(layers)
	if err := s.layers.begins(c.scratch, engine.UserName(uid)); err != nil {
		return err
	}

	return s.cfg.Engine.Create(ctx, engine.Container{
		ID:          c.engine,
		Labels:      map[string]string{label: s.cfg.Node},
		Layers:      layers,
		Scratch:     c.scratch.dir,
		Args:        args,
		Env:         env,
		Dir:         cri.Drive,
		UID:         uid,
		Hostname:    hostName(doc.GuestOs.HostName, c.id),
		NetNS:       c.network.NetNS,
		Mounts:      mounts,
		SystemFiles: append([]engine.BindMount{{Source: resolv, Target: "/etc/resolv.conf"}}, pipes...),
		WorkDir:     c.workDir(),
		Terminal:    terminal,
		Resources:   doc.resources(),
	})
}

// resolver returns how names are resolved: as HNS says, with the document's suffixes, if it has some.
func (c *computeSystem) resolver() cri.DNS {
	dns := c.network.DNS
	if list := c.doc.Container.Networking.DNSSearchList; list != "" {
		dns.Searches = strings.Split(list, ",")
	}
	return dns
}

// hostName returns what a container's Windows calls itself.
func hostName(name, id string) string {
	if name == "" {
		name = id
	}
	name = strings.Map(func(r rune) rune {
		if r == '-' || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, name)
	return strings.Trim(name[:min(len(name), 63)], "-")
}

// properties are those of a compute system.
type properties struct {
	ID            string `json:"Id"`
	State         State
	Name          string
	SystemType    string
	RuntimeOsType string
	Owner         string
}

func (c *computeSystem) properties() properties {
	c.mu.Lock()
	defer c.mu.Unlock()
	return properties{
		ID:            c.id,
		State:         c.state,
		Name:          c.id,
		SystemType:    "Container",
		RuntimeOsType: "Windows",
		Owner:         c.doc.Owner,
	}
}

func encode(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

func encodeEvent(value any) string {
	text, err := json.Marshal(value)
	if err != nil { // of plain structures there is none
		return "{}"
	}
	return string(text)
}

// Seen is what is known of a compute system that measures, for package compute, which has the form of the answers.
type Seen struct {
	ID, Owner string
	State     State
	StartedAt time.Time
}

// Look returns what is known of a compute system.
func (s *Service) Look(id string) (Seen, error) {
	c, err := s.find(id)
	if err != nil {
		return Seen{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return Seen{
		ID:        c.id,
		Owner:     c.doc.Owner,
		State:     c.state,
		StartedAt: c.startedAt,
	}, nil
}

// Usage measures a compute system; one without a process uses nothing.
func (s *Service) Usage(ctx context.Context, id string) (engine.Usage, error) {
	c, err := s.find(id)
	if err != nil {
		return engine.Usage{}, err
	}
	c.mu.Lock()
	made := c.made
	c.mu.Unlock()
	if !made {
		return engine.Usage{At: time.Now()}, nil
	}
	return s.cfg.Engine.Usage(ctx, c.engine)
}
