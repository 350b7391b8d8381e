package addon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/confined"
	"mullion.dev/mullion/internal/process/proc"
)

// Program is what an add-on runs.
type Program struct {
	// Confined says as whom it runs, and in which folder its files are. Its name is the unit's.
	Confined confined.Program
	Args     []string
	// Env is its environment beside what all add-ons have.
	Env []string
	// Ready returns nil when the server can be used.
	Ready func(context.Context) error
	// Write, unless nil, writes the files that it reads; the folder is there.
	Write func() error
	// Tell, unless nil, says in the API that the server is there. It is called when the server is ready, again and
	// again until it returns nil or the start is over: the API server may be busy.
	Tell func(context.Context) error
}

// Server is an add-on as a component. Ready means that it answers, and that the API has been told.
type Server struct {
	*proc.Process

	program Program
}

// New returns the component, not started.
func New(at Place, p Program) *Server {
	name := p.Confined.Name

	return &Server{
		program: p,
		Process: proc.New(proc.Spec{
			ID:     component.Sole(name),
			Path:   at.Program,
			Args:   p.Args,
			Marker: at.Marker,
			// Memory counts more than processor time here, as for the control plane.
			Env:     append([]string{"GOGC=50"}, p.Env...),
			LogPath: filepath.Join(at.LogDir, name+".log"),
			Netns:   at.Netns,
			Cgroup:  at.Cgroup,
			Starter: p.Confined.Start,
			Ready:   p.Ready,
		}),
	}
}

// Start writes what the server reads, starts it, and tells the API.
func (s *Server) Start(ctx context.Context) error {
	if err := s.program.Confined.MakeFolder(); err != nil {
		return err
	}
	if s.program.Write != nil {
		if err := s.program.Write(); err != nil {
			return fmt.Errorf("write files of %s: %w", s.ID(), err)
		}
	}
	if err := s.Process.Start(ctx); err != nil {
		return err
	}

	return s.tell(ctx)
}

// tellEvery is the pause before another try to tell the API.
const tellEvery = 200 * time.Millisecond

func (s *Server) tell(ctx context.Context) error {
	if s.program.Tell == nil {
		return nil
	}
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()

	for {
		err := s.program.Tell(ctx)
		if err == nil {
			return nil
		}

		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-tick.C:
		}
	}
}

// Stop ends the server and removes what it read. What is its own stays, and so does what the API was told, as the
// cluster's state.
func (s *Server) Stop(ctx context.Context) error {
	return errors.Join(s.Process.Stop(ctx), s.program.Confined.RemoveFolder())
}
