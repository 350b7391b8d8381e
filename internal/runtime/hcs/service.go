package hcs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
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
	Exec(ctx context.Context, id string, x engine.ExecSpec) (engine.Exit, error)
	CloseStdin(ctx context.Context, id string) error
	Resize(ctx context.Context, id string, width, height uint16) error
}

// Limits is the part of an engine that limits containers, and measures them.
type Limits interface {
	Update(ctx context.Context, id string, r engine.Resources) error
	Usage(ctx context.Context, id string) (engine.Usage, error)
}

// Folders is the part of an engine that makes the folders by which a container and the machine tell each other things.
type Folders interface {
	MakeWorkDir(dir string) error
	RemoveWorkDir(dir string) error
}

// Engine runs containers.
type Engine interface {
	Containers
	Programs
	Limits
	Folders
}

// Network is a namespace of HNS.
type Network struct {
	// NetNS is the path of its network namespace.
	NetNS string
	// DNS is how names are resolved in it.
	DNS cri.DNS
}

// Config is what a Service needs. All paths are absolute paths of the machine.
type Config struct {
	// Node is the name of the Windows host.
	Node string
	// StateDir holds the scratches of containers; it survives the service, and is on the file system of the host's
	// drive.
	StateDir string
	// RunDir holds working folders and FIFOs; it may be gone after a boot.
	RunDir string
	// Drive is the folder that is the host's C:, as its programs see it. Upper is the folder of the same file system
	// that what they write to the drive lies in.
	Drive, Upper string
	// SystemDrive is the C: that containers have below their layers.
	SystemDrive string
	// Engine runs containers; in production an *engine.Engine.
	Engine Engine
	// OpenSource opens what a container maps by its path in the Windows host.
	OpenSource func(winPath string) (*os.File, error)
	// Network finds a namespace of HNS; no namespace is none of the host.
	Network func(ctx context.Context, namespace string) (Network, error)
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

	mu      sync.Mutex
	systems map[string]*computeSystem
}

// New makes a service for as long as ctx lives. What is left of the compute systems of an earlier one is removed:
// whoever held them has been told that the service is gone.
func New(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	left, err := cfg.Engine.List(ctx, label, cfg.Node)
	if err != nil {
		return nil, fmt.Errorf("look for compute systems of an earlier service: %w", err)
	}
	for _, c := range left {
		if err := cfg.Engine.Remove(ctx, c.ID); err != nil {
			return nil, fmt.Errorf("remove compute system of an earlier service: %w", err)
		}
	}
	s := &Service{cfg: cfg, life: ctx, systems: map[string]*computeSystem{}}
	s.layers = layers{cfg: cfg, active: map[string]*scratch{}}
	if err := s.clear(); err != nil {
		return nil, err
	}
	return s, nil
}

// clear removes the working folders of an earlier service.
func (s *Service) clear() error {
	entries, err := os.ReadDir(s.cfg.RunDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for working folders of an earlier service: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(s.cfg.RunDir, e.Name())
		if err := s.cfg.Engine.RemoveWorkDir(filepath.Join(dir, "run")); err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove working folder of an earlier service: %w", err)
		}
	}
	return nil
}

// Close waits for what the service does in the background; the context of New has to have ended.
func (s *Service) Close() { s.background.Wait() }

// nameOf is the name in the engine of a compute system, whose own may be anything.
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
