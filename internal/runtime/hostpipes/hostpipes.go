// Package hostpipes owns named pipes of the Windows host in containers. A container has a Wine server of its own, so
// mullion-pipe.exe has the pipe there and carries each connection to a socket of this package, which connects it to the
// host's pipe: see package piperelay. Who makes the container gives it what Mount and CommandLine return.
package hostpipes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// target is where a container sees its sockets; they are called by their number.
const target = "/run/mullion-pipes"

// event is the event by which mullion-run.exe learns that a container's pipes are there.
const event = "mullion_pipes"

const (
	// maxPipes is how many pipes a container may have, and maxConns how many connections to them all at a time: they
	// cost the server descriptors.
	maxPipes = 64
	maxConns = 256
)

// Pipe is a pipe of the host in a container, by its name there and here: \\.\pipe\NAME.
type Pipe struct{ Host, Container string }

// Check returns an error if a container cannot have these pipes: one of the names is none of a pipe, two pipes have one
// name in it, or they are too many.
func Check(pipes []Pipe) error {
	if len(pipes) > maxPipes {
		return fmt.Errorf("mount %d named pipes: a container may have %d", len(pipes), maxPipes)
	}

	seen := map[string]bool{}
	for _, p := range pipes {
		if piperelay.CheckName(p.Host) != nil || piperelay.CheckName(p.Container) != nil {
			return fmt.Errorf("mount named pipe %q at %q: both have to be names of pipes", p.Host, p.Container)
		}
		name := strings.ToLower(p.Container)
		if seen[name] {
			return fmt.Errorf("mount named pipe %q at %q: another one is mounted there", p.Host, p.Container)
		}
		seen[name] = true
	}

	return nil
}

// CommandLine returns the Windows command line that has the pipes in a container, for mullion-run.exe; "" if there are
// none.
func CommandLine(pipes []Pipe) string {
	if len(pipes) == 0 {
		return ""
	}

	o := piperelay.Options{Event: event}
	for i, p := range pipes {
		o.Relays = append(o.Relays, piperelay.Relay{
			Listen: p.Container,
			Dial:   wine.UnixName(target + "/" + strconv.Itoa(i)),
		})
	}

	var line strings.Builder
	line.WriteString(wine.PipeProgram)
	for _, arg := range o.Args() {
		line.WriteString(` "` + arg + `"`) // names have no quotation marks, and none ends in a back slash
	}

	return line.String()
}

// Mount makes the folder of a container's sockets, and returns how the container sees it: read-only, so that what runs
// there cannot put something else in their place.
func Mount(dir string) (engine.BindMount, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return engine.BindMount{}, fmt.Errorf("make folder of pipes: %w", err)
	}
	return engine.BindMount{Source: dir, Target: target}, nil
}

// Connect connects to a named pipe of the host.
type Connect func(ctx context.Context, user piperelay.User, pipe string) (net.Conn, error)

// Server serves pipes.
type Server struct {
	Connect Connect
	// Go runs what serves a pipe, which ends with the pipe.
	Go func(func())
}

// Serve serves a container's pipes by sockets in the folder of Mount, as a user of the host, until ctx ends or the
// result is called.
func (s Server) Serve(ctx context.Context, dir string, user piperelay.User, pipes []Pipe) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	room := make(chan struct{}, maxConns)
	for i, p := range pipes {
		l, err := listenBelow(ctx, dir, strconv.Itoa(i))
		if err != nil {
			cancel()
			return nil, fmt.Errorf("serve pipe %q: %w", p.Host, err)
		}
		context.AfterFunc(ctx, func() { _ = l.Close() }) // that Accept ends is all that is asked of it
		s.Go(func() {
			serve(ctx, l, room, func() (net.Conn, error) { return s.Connect(ctx, user, p.Host) })
		})
	}
	return cancel, nil
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

// serve connects those who connect to l, as many as have room.
func serve(ctx context.Context, l net.Listener, room chan struct{}, connect func() (net.Conn, error)) {
	for {
		conn, err := unixsocket.Accept(ctx, l, nil)
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
