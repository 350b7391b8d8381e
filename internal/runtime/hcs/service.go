package hcs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/stream"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/hostpipes"
	"mullion.dev/mullion/internal/windows/wine"
)

// label is the engine's label of the containers of this service; its value is the node.
const label = "mullion.dev/compute-system"

// Containers is the part of an engine that makes and ends containers.
type Containers interface {
	Create(ctx context.Context, c engine.Container) error
	Start(ctx context.Context, id string, stdio engine.IO) (pid uint32, err error)
	Signal(ctx context.Context, id string, signal unix.Signal, all bool) error
	Remove(ctx context.Context, id string) error
	List(ctx context.Context, label, value string) ([]engine.Info, error)
}

// Programs is the part of an engine that deals with running containers.
type Programs interface {
	Wait(ctx context.Context, id string) (engine.Exit, error)
	CloseStdin(ctx context.Context, id string) error
	Resize(ctx context.Context, id string, width, height uint16) error
}

// Execs is the part of an engine that deals with further programs in running containers.
//
//nolint:interfacebloat // a method for each thing that is done to a program
type Execs interface {
	Exec(ctx context.Context, id string, x engine.ExecSpec) (engine.Exit, error)
	StartExec(ctx context.Context, id string, x engine.ExecSpec, stdio engine.IO) error
	WaitExec(ctx context.Context, id, exec string) (engine.Exit, error)
	KillExec(ctx context.Context, id, exec string) error
	EndExec(ctx context.Context, id, exec string) error
	ForgetExec(ctx context.Context, id, exec string) error
	CloseExecStdin(ctx context.Context, id, exec string)
	ResizeExec(ctx context.Context, id, exec string, width, height uint16) error
}

// Limits is the part of an engine that limits containers, and measures them.
type Limits interface {
	Update(ctx context.Context, id string, r engine.Resources) error
	Usage(ctx context.Context, id string) (engine.Usage, error)
	UnreadOf(ctx context.Context, id string, most int64) (int64, error)
}

// Drives is the part of an engine that knows the files of running containers.
type Drives interface {
	Drive(id string) (*os.File, error)
}

// Folders is the part of an engine that makes the folders by which a container and the machine tell each other things.
type Folders interface {
	MakeWorkDir(dir string) error
	RemoveWorkDir(dir string) error
}

// Registries is the part of an engine that knows the registries of containers.
type Registries interface {
	ScratchRegistry(scratch string, layers []*os.File, user string) (wine.RegistryChanges, error)
}

// Files is the part of an engine that knows what containers have on the disk.
type Files interface {
	Folders
	Drives
	Registries
}

// Engine runs containers.
type Engine interface {
	Containers
	Programs
	Execs
	Limits
	Files
}

// Config is what a Service needs. All paths are absolute paths of the machine.
type Config struct {
	// Node is the name of the Windows host.
	Node string
	// StateDir holds the scratches of containers; it survives the service, and is on the file system of the host's
	// drive.
	StateDir string
	// RunDir holds records, working folders and FIFOs; it may be gone after a boot, as are containers.
	RunDir string
	// Drive is the folder that is the host's C:, as its programs see it. Upper is the folder of the same file system
	// that what they write to the drive lies in.
	Drive, Upper string
	// Volumes is a folder whose mounts programs of the host see at the same path; empty: they see no volumes of
	// scratches. The prefix beside Drive has their names.
	Volumes string
	// SystemDrive is the C: that containers have below their layers.
	SystemDrive string
	// Engine runs containers; in production an *engine.Engine.
	Engine Engine
	// Keeper has the ends of processes' streams.
	Keeper *stream.Client
	// OpenSource opens what a container maps by its path in the Windows host.
	OpenSource func(winPath string) (*os.File, error)
	// HostPipe connects to a named pipe of the Windows host; nil: no pipes are mapped.
	HostPipe hostpipes.Connect
	// Open is closed when programs can call the service; nil: they can when New has returned.
	Open <-chan struct{}
	// Networks are the namespaces of HNS.
	Networks Networks
	// Launch says how a Windows program is started in a container.
	Launch cri.Launch
	// LinuxNames makes names resolve as in Linux' containers.
	LinuxNames bool
	// Log takes what happens.
	Log *slog.Logger
}

// Service is the Host Compute Service of one Windows host.
type Service struct {
	cfg    Config
	layers layers
	// life ends the background work, background waits for it.
	life       context.Context //nolint:containedctx // What runs in a container outlives the call that began it.
	background sync.WaitGroup
	looks      sync.WaitGroup // of what has an end only with life
	supervise  sync.Once

	mu      sync.Mutex
	systems map[string]*computeSystem
	making  map[string]bool // ids of those that are not there yet
	leaving map[string]bool // names in the engine of those of which something is left
}

// New makes a service for as long as ctx lives. It takes over the compute systems of an earlier one.
func New(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Open == nil {
		open := make(chan struct{})
		close(open)
		cfg.Open = open
	}
	s := &Service{
		cfg:     cfg,
		life:    ctx,
		systems: map[string]*computeSystem{},
		making:  map[string]bool{},
		leaving: map[string]bool{},
	}

	s.layers = layers{cfg: cfg, active: map[string]*scratch{}}
	if err := s.takeOver(ctx); err != nil {
		return nil, err
	}
	s.looks.Go(s.boundUnread)
	return s, nil
}

// ensureKeeper returns when a keeper answers, and reports whether it had to be started.
func (s *Service) ensureKeeper(ctx context.Context) (started bool, err error) {
	if started, err = s.cfg.Keeper.Ensure(ctx); err == nil {
		// It goes on for as long as the service lives.
		s.supervise.Do(func() { s.background.Go(s.superviseKeeper) })
	}
	return started, err
}

// openStreams opens the streams of a process.
func (s *Service) openStreams(ctx context.Context, p *process) error {
	if _, err := s.ensureKeeper(ctx); err != nil {
		return err
	}
	return p.streams.open(ctx)
}

// openAgain sees that the streams of a process of an earlier service go on, also when the keeper has ended, too. While
// there is no keeper it tries again: the process runs all the same, until what it writes has filled its FIFO.
func (s *Service) openAgain(p *process) {
	lost := false
	open := func(ctx context.Context) error {
		started, err := s.ensureKeeper(ctx)
		lost = lost || started || err != nil // then who answers is another one than that of the earlier service
		switch {
		case p.hasEnded():
			return nil
		case err != nil:
			return err
		case lost:
			return p.streams.again(ctx)
		}
		return p.streams.open(ctx)
	}
	s.again("take over the streams of a process", p.system.id, open(s.life), open)
}

// superviseKeeper gives the streams of processes to another keeper whenever the current one ends. Their connections
// have ended with it; without a keeper, a program stands still as soon as it has filled its FIFO.
func (s *Service) superviseKeeper() {
	for s.life.Err() == nil {
		if ended, err := s.cfg.Keeper.Watch(s.life, nil); err == nil {
			<-ended
		}
		if s.life.Err() != nil {
			return
		}
		if _, err := s.cfg.Keeper.Ensure(s.life); err != nil {
			s.cfg.Log.Error("keeper of streams not started", "error", err)
		}

		for _, p := range s.running() {
			if err := p.streams.again(s.life); err != nil {
				s.cfg.Log.Error("streams not taken over", "id", p.system.id, "error", err)
			}
		}

		select {
		case <-s.life.Done():
		case <-time.After(keeperPause):
		}
	}
}

// keeperPause is the least time between two keepers.
const keeperPause = 100 * time.Millisecond

// running returns the processes that have not ended.
func (s *Service) running() (all []*process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.systems {
		c.mu.Lock()
		for _, p := range c.processes {
			if !p.hasEnded() {
				all = append(all, p)
			}
		}
		c.mu.Unlock()
	}
	return all
}

// Close waits for what the service does in the background; the context of New has to have ended.
func (s *Service) Close() {
	s.looks.Wait() // which may begin further work
	s.background.Wait()
}

// nameOf returns the name in the engine of a compute system, whose own may be anything.
func (s *Service) nameOf(id string) string {
	sum := sha256.Sum256([]byte(s.cfg.Node + "\x00" + id))
	return "hcs-" + hex.EncodeToString(sum[:16])
}

// find returns a compute system.
func (s *Service) find(id string) (*computeSystem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.systems[id]; c != nil {
		return c, nil
	}
	return nil, refuse(NotFound, "there is no compute system %q", id)
}

// Has reports whether a compute system is one of this service.
func (s *Service) Has(id string) bool {
	_, err := s.find(id)
	return err == nil
}

// enumerate returns what is known of the compute systems that a query is about.
func (s *Service) enumerate(text string) (string, error) {
	var q query
	if err := parse(text, &q); err != nil {
		return "", err
	}
	s.mu.Lock()
	all := []properties{}
	for _, c := range s.systems {
		all = append(all, c.properties())
	}

	s.mu.Unlock()
	all = slices.DeleteFunc(all, func(p properties) bool {
		return !wanted(q.IDs, p.ID) || !wanted(q.Types, p.SystemType) || !wanted(q.Names, p.Name) ||
			!wanted(q.Owners, p.Owner)
	})
	slices.SortFunc(all, func(a, b properties) int { return strings.Compare(a.ID, b.ID) })

	return encode(all)
}

func wanted(list []string, value string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(one string) bool { return strings.EqualFold(one, value) })
}
