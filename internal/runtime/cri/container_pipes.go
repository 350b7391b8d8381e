package cri

import (
	"fmt"
	"path/filepath"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/hostpipes"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// pipesOf returns a container's mounts that are named pipes of the host.
func pipesOf(config *runtimeapi.ContainerConfig) []hostpipes.Pipe {
	var pipes []hostpipes.Pipe
	for _, m := range config.GetMounts() {
		if piperelay.IsPipe(m.GetHostPath()) {
			pipes = append(pipes, hostpipes.Pipe{Host: m.GetHostPath(), Container: m.GetContainerPath()})
		}
	}
	return pipes
}

// checkPipes returns an error if a container cannot have its pipes.
func (s *Server) checkPipes(c store.Container) error {
	pipes := pipesOf(c.Config.ContainerConfig)
	if len(pipes) > 0 && (s.cfg.HostPipe == nil || s.cfg.Launch.Run == "") {
		return fmt.Errorf("mount named pipe %q: this runtime has no pipes: %w", pipes[0].Host, errdefs.ErrNotImplemented)
	}
	if err := hostpipes.Check(pipes); err != nil {
		return fmt.Errorf("%w: %w", err, errdefs.ErrInvalidArgument)
	}
	return nil
}

// pipesDir has the sockets of a container's pipes.
func (s *Server) pipesDir(id string) string { return filepath.Join(s.cfg.RunDir, "pipes", id) }

// makePipesDir makes the folder, and returns how the container sees it; nothing for a container without pipes.
func (s *Server) makePipesDir(c store.Container) ([]engine.BindMount, error) {
	if len(pipesOf(c.Config.ContainerConfig)) == 0 {
		return nil, nil
	}
	mount, err := hostpipes.Mount(s.pipesDir(c.ID))
	return []engine.BindMount{mount}, err
}

// openPipes serves a container's pipes until closePipes, or until the server ends.
func (s *Server) openPipes(c store.Container) error {
	pipes := pipesOf(c.Config.ContainerConfig)
	if len(pipes) == 0 {
		return nil
	}
	user := piperelay.Unprivileged
	if s.uidOf(c) == uidAdministrator {
		user = piperelay.Administrator
	}

	server := hostpipes.Server{Connect: s.cfg.HostPipe, Go: s.watchers.Go}
	end, err := server.Serve(s.life(), s.pipesDir(c.ID), user, pipes)
	if err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.pipes[c.ID] = end
	return nil
}

// closePipes ends what openPipes has begun.
func (s *Server) closePipes(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.pipes[id]; end != nil {
		end()
		delete(s.pipes, id)
	}
}
