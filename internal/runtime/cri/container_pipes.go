package cri

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// Named pipes of the host in containers. A container has a Wine server of its own, so mullion-pipe.exe has the pipe
// there and carries each connection to a socket of this server, which connects it to the host's pipe: see package
// piperelay.
//
// The sockets are in a folder of the server's own, which the container sees read-only: what runs there cannot put
// something else in their place.

// pipesTarget is where a container sees its sockets; they are called by their number.
const pipesTarget = "/run/mullion-pipes"

// pipesEvent is the event by which mullion-run.exe learns that a container's pipes are there.
const pipesEvent = "mullion_pipes"

// maxPipeConns is how many connections to one pipe a container may have at a time: they cost the server descriptors.
const maxPipeConns = 256

// pipesOf returns a container's mounts that are pipes.
func pipesOf(config *runtimeapi.ContainerConfig) []*runtimeapi.Mount {
	var pipes []*runtimeapi.Mount
	for _, m := range config.GetMounts() {
		if piperelay.IsPipe(m.GetHostPath()) {
			pipes = append(pipes, m)
		}
	}
	return pipes
}

// checkPipes returns an error if a container cannot have its pipes.
func (s *Server) checkPipes(c store.Container) error {
	for _, m := range pipesOf(c.Config.ContainerConfig) {
		switch {
		case s.cfg.HostPipe == nil || s.cfg.Launch.Run == "":
			return fmt.Errorf("mount named pipe %q: this runtime has no pipes: %w", m.GetHostPath(),
				errdefs.ErrNotImplemented)
		case piperelay.CheckName(m.GetHostPath()) != nil || piperelay.CheckName(m.GetContainerPath()) != nil:
			return fmt.Errorf("mount named pipe %q at %q: both have to be names of pipes: %w", m.GetHostPath(),
				m.GetContainerPath(), errdefs.ErrInvalidArgument)
		}
	}
	return nil
}

// containerPipes returns the Windows command line that has the pipes in a container; "" if there are none.
func containerPipes(pipes []*runtimeapi.Mount) string {
	if len(pipes) == 0 {
		return ""
	}

	o := piperelay.Options{Event: pipesEvent}
	for i, m := range pipes {
		o.Relays = append(o.Relays, piperelay.Relay{
			Listen: m.GetContainerPath(),
			Dial:   wine.UnixName(pipesTarget + "/" + strconv.Itoa(i)),
		})
	}

	var line strings.Builder
	line.WriteString(wine.PipeProgram)
	for _, arg := range o.Args() {
		line.WriteString(` "` + arg + `"`) // names have no quotation marks, and none ends in a back slash
	}

	return line.String()
}

// pipesDir has the sockets of a container's pipes.
func (s *Server) pipesDir(id string) string { return filepath.Join(s.cfg.RunDir, "pipes", id) }

// makePipesDir makes the folder, and returns how the container sees it; nothing for a container without pipes.
func (s *Server) makePipesDir(c store.Container) ([]engine.BindMount, error) {
	if len(pipesOf(c.Config.ContainerConfig)) == 0 {
		return nil, nil
	}
	dir := s.pipesDir(c.ID)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make folder of pipes: %w", err)
	}
	return []engine.BindMount{{Source: dir, Target: pipesTarget}}, nil
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

	ctx, cancel := context.WithCancel(s.life())
	for i, m := range pipes {
		l, err := listenBelow(ctx, s.pipesDir(c.ID), strconv.Itoa(i))
		if err != nil {
			cancel()
			return fmt.Errorf("serve pipe %q: %w", m.GetHostPath(), err)
		}
		context.AfterFunc(ctx, func() { _ = l.Close() }) // that Accept ends is all that is asked of it
		s.watchers.Go(func() {
			s.servePipe(ctx, l, func() (net.Conn, error) { return s.cfg.HostPipe(ctx, user, m.GetHostPath()) })
		})
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.pipes[c.ID] = cancel
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

// listenBelow listens on a new socket in a folder, to which everybody may connect who sees it. The path of the folder
// may be longer than the address of a socket.
func listenBelow(ctx context.Context, dir, name string) (*net.UnixListener, error) {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), name))
	if err != nil {
		return nil, err
	}

	socket := l.(*net.UnixListener) // what Listen returns for "unix"
	socket.SetUnlinkOnClose(false)  // by a path that means something else by then
	return socket, os.Chmod(filepath.Join(dir, name), 0o666)
}

// servePipe connects those who connect to l.
func (s *Server) servePipe(ctx context.Context, l net.Listener, connect func() (net.Conn, error)) {
	room := make(chan struct{}, maxPipeConns)
	for {
		conn, err := l.Accept()
		if err != nil {
			return // closed
		}

		select {
		case room <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}

		go func() {
			defer func() { <-room }()
			other, err := connect()
			if err != nil {
				_ = conn.Close() // which is all that a pipe's client can be told
				return
			}
			piperelay.Join(ctx, conn, other)
		}()
	}
}
