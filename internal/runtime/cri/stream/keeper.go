package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/unixsocket"
)

// Keeper is the server side. Serve runs it.
type Keeper struct {
	said *messages
	log  *slog.Logger // of said

	mu         sync.Mutex
	containers map[string]*kept
	programs   map[string]*carried
	past       map[string]*carried // programs that are no more, with what is not read yet
	quit       func()
}

// Serve listens on the Unix socket path and keeps streams until ctx ends or a client says so. It is an error if
// another keeper listens there. What happens to streams is told to who watches the keeper.
func Serve(ctx context.Context, socket string) error {
	lock, err := lockSocket(ctx, socket)
	if err != nil {
		return err
	}
	defer lock.Close()
	l, err := unixsocket.Listen(ctx, socket)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	said := newMessages()
	k := &Keeper{
		said:       said,
		log:        said.logger(),
		containers: map[string]*kept{},
		programs:   map[string]*carried{},
		past:       map[string]*carried{},
		quit: func() {
			cancel()
			_ = l.Close()
		},
	}

	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()

	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = c.Close()
			}
			return nil
		}

		if err != nil {
			return fmt.Errorf("accept on %q: %w", socket, err)
		}
		go k.serve(ctx, c)
	}
}

// lockTimeout is how long a keeper that has been killed may take to be gone.
const lockTimeout = 10 * time.Second

// lockSocket makes this process the only keeper on the socket until the lock is closed or the process ends. Of two
// that start at once one gets it; one that is being killed is waited for.
func lockSocket(ctx context.Context, socket string) (*os.File, error) {
	lock, err := os.OpenFile(socket+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of keeper: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()

	for {
		if NewClient(socket, nil).answers(ctx) {
			return nil, errors.Join(fmt.Errorf("listen on %q: another keeper does", socket), lock.Close())
		}
		if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return lock, nil
		}

		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock %q: %w", lock.Name(), err), lock.Close())
		case <-tick.C:
		}
	}
}

// serve answers the one request of a connection.
func (k *Keeper) serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	r := bufio.NewReaderSize(c, maxFrame)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return // A probe of Serve or Client.
	}

	var req request
	if err := json.Unmarshal(line, &req); err != nil {
		_ = writeJSON(c, response{Error: fmt.Sprintf("decode request: %v", err)})
		return
	}

	switch req.Op {
	case opAttach:
		k.attach(c, r, req)
		return
	case opConnect:
		k.connect(c, r, req)
		return
	case opWatch:
		k.hold(ctx, c, r, req.Messages)
		return
	}

	var resp response
	if err := k.do(ctx, req); err != nil {
		resp.Error = err.Error()
	}
	_ = writeJSON(c, resp)
	if req.Op == opQuit {
		k.quit()
	}
}

// hold answers, sends messages if the client asks for them, and returns when the client goes or ctx ends.
func (k *Keeper) hold(ctx context.Context, c net.Conn, r io.Reader, send bool) {
	if err := writeJSON(c, response{}); err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if !send {
		_, _ = io.Copy(io.Discard, r)
		return
	}

	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, r)
	}()
	k.said.send(ctx, c, gone)
}

func (k *Keeper) do(ctx context.Context, req request) error {
	switch req.Op {
	case opOpen:
		return k.open(ctx, req.Streams)
	case opCarry:
		return k.carry(ctx, req.Streams)
	case opEndInput, opAwaitInput, opAwaitTaken, opLetGo:
		return k.doCarried(ctx, req)
	case opQuit, opPing:
		return nil
	case opForget:
		k.mu.Lock()
		s := k.containers[req.ID]
		delete(k.containers, req.ID)
		k.mu.Unlock()
		if s != nil {
			s.close()
		}
		return nil
	}

	s, err := k.find(req.ID)
	if err != nil {
		return err
	}

	switch req.Op {
	case opReopen:
		return s.file.reopen()
	case opDrain:
		select {
		case <-s.drained:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}

	default:
		return fmt.Errorf("unknown operation %q", req.Op)
	}
}

// doCarried does what is asked for the streams of a program.
func (k *Keeper) doCarried(ctx context.Context, req request) error {
	switch req.Op {
	case opEndInput:
		if one, err := k.carrying(req.ID, Stdin); err == nil { // else it has ended
			one.endInput(req.Awaits)
		}
	case opAwaitInput:
		return k.awaitInput(ctx, req.ID)
	case opAwaitTaken:
		k.awaitTaken(ctx, req.ID)
	case opLetGo:
		k.letGo(req.Streams)
	}
	return nil
}

func (k *Keeper) find(id string) (*kept, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s, ok := k.containers[id]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("streams of container %q are not kept", id)
}

func (k *Keeper) open(ctx context.Context, streams Streams) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.containers[streams.ID]; ok {
		return nil
	}
	s, err := keep(ctx, streams, k.log)
	if err != nil {
		return err
	}
	k.containers[streams.ID] = s
	return nil
}

func (k *Keeper) attach(c net.Conn, r *bufio.Reader, req request) {
	s, err := k.find(req.ID)
	if err != nil {
		_ = writeJSON(c, response{Error: err.Error()})
		return
	}
	if err := writeJSON(c, response{}); err != nil {
		return
	}

	remove := s.addClient(c)
	defer remove()

	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if req.EndStdin {
			defer s.endStdin()
		}

		for {
			kind, data, err := readFrame(r)
			switch {
			case err != nil:
				return
			case kind == frameStdin && req.Stdin:
				s.writeStdin(data)
			case kind == frameStdinEnd && req.EndStdin:
				s.endStdin() // in its place after the data
			}
		}
	}()

	select {
	case <-gone:
	case <-s.drained:
	}
}

// clientTimeout is how long an attached client may hold up the container by not reading.
const clientTimeout = 10 * time.Second
