package single

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/single/nat"
)

// Options are what Serve needs.
type Options struct {
	Paths Paths
	// Wine is the folder of Wine; "": the machine's own.
	Wine string
	// Idle is how long the engine lives when nobody asks for anything.
	Idle time.Duration
	Log  *slog.Logger
	// Output is where the server's log goes, and Environ its environment, for Keep.
	Output  io.Writer
	Environ []string
}

// mostTasks is how many processes and threads all single containers may have together, and the engine.
const mostTasks = 1 << 15

// leftoverPatience bounds the end of what an earlier engine left.
const leftoverPatience = time.Minute

// Serve is the server, in the namespaces that Keep makes for it. It serves until ctx ends, or nobody has asked for
// anything for a while, and ends with what it has started.
func Serve(ctx context.Context, o Options) (err error) {
	unix.Umask(openMask)
	if err := o.Paths.Prepare(); err != nil {
		return err
	}
	if err := settle(); err != nil {
		return err
	}

	register, err := openRegister(o.Paths)
	if err != nil {
		return fmt.Errorf("read what is known of containers: %w", err)
	}
	l, err := unixsocket.Listen(ctx, o.Paths.Engine())
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	s := &service{
		options:  o,
		life:     ctx,
		end:      cancel,
		idle:     newIdle(o.Idle, cancel),
		register: register,
		rooms:    map[string]*room{},
		made:     make(chan struct{}),
		running:  map[string]watched{},
	}

	s.network = s.newNetwork()
	defer func() { err = errors.Join(err, s.close()) }() //nolint:contextcheck // ctx is over by then.

	s.background.Go(func() { reap(ctx) })
	s.background.Go(func() { s.setUp(ctx) })
	s.background.Go(s.boundUnread)
	s.clearLeft()
	s.background.Go(func() {
		if _, err := s.linuxRunner(ctx); err != nil && ctx.Err() == nil {
			o.Log.Warn("commands of builds that an earlier engine left are not removed yet", "error", err)
		}
	})
	s.restartLeft()
	s.background.Go(func() {
		if err := s.network.Start(); err != nil {
			o.Log.Warn("the network of containers is not there", "error", err) // who wants it is told
		}
	})

	return s.accept(ctx, l)
}

// clearLeft removes what an earlier engine has left of volumes, which takes as long as there are files. The end of this
// one does not wait for it: the next one goes on.
func (s *service) clearLeft() {
	go func() {
		if err := s.register.clearVolumes(); err != nil {
			s.options.Log.Warn("what an earlier engine left of volumes is not removed yet", "error", err)
		}
	}()
}

// hold waits for a lock, which the file keeps.
func hold(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()

	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %q: %w", path, err), file.Close())
		}

		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for lock %q: %w", path, ctx.Err()), file.Close())
		case <-tick.C:
		}
	}
}

const lockInterval = 20 * time.Millisecond

// service is the engine of a data folder.
type service struct {
	options    Options
	life       context.Context //nolint:containedctx // What is begun for one client serves the next.
	end        func()          // ends life
	idle       *idle
	background sync.WaitGroup

	made       chan struct{} // closed when containerd serves, or err says why not
	err        error
	containerd *parts.Containerd

	register *register
	network  *nat.Network

	linux linux

	mu      sync.Mutex
	rooms   map[string]*room   // by builds of Windows
	running map[string]watched // those with a network namespace, by their ids
}

// setUp starts containerd.
func (s *service) setUp(ctx context.Context) {
	defer close(s.made)

	p := s.options.Paths
	daemon := engine.DaemonConfig{
		Root:   p.ContainerdRoot(),
		State:  p.EngineState(),
		Socket: p.ContainerdSocket(),
	}

	s.containerd = &parts.Containerd{
		Process: proc.New(proc.Spec{
			ID:   component.Sole("containerd"),
			Path: p.Program("containerd"),
			Args: []string{"--config", p.ContainerdConfig()},
			// containerd finds its shim in PATH
			Env:     []string{"PATH=" + p.Bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			Marker:  p.Data,
			LogPath: p.Logs() + "/containerd.log",
			Starter: func(_ context.Context, cmd *exec.Cmd) error { return cmd.Start() },
			Ready: func(ctx context.Context) error {
				conn, err := unixsocket.Dialer(daemon.Socket)(ctx, "", "")
				if err != nil {
					return err
				}
				return conn.Close()
			},
			ReadyInterval: containerdInterval,
		}),
		Daemon: daemon,
		Config: p.ContainerdConfig(),
	}

	if err := s.containerd.Start(ctx); err != nil {
		s.err = fmt.Errorf("start containerd: %w", err)
	}
}

// containerdInterval is the time between two looks whether containerd serves.
const containerdInterval = 10 * time.Millisecond

// close ends what runs, and containerd.
func (s *service) close() error {
	s.background.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.life), leftoverPatience)
	defer cancel()
	var errs []error
	s.mu.Lock()
	for _, r := range s.rooms {
		errs = append(errs, r.close())
	}

	s.mu.Unlock()
	errs = append(errs, s.linux.close(), s.network.Close())
	if s.containerd != nil {
		errs = append(errs, s.containerd.Stop(ctx))
	}

	return errors.Join(errs...)
}

// accept serves clients, each on a goroutine of its own.
func (s *service) accept(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()

	for {
		conn, err := unixsocket.Accept(ctx, l, func(err error) { // containers live on
			s.options.Log.Warn("a client was not let in", "error", err)
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for clients: %w", err)
		}

		leave := s.idle.enter()
		s.background.Go(func() {
			defer leave()
			defer conn.Close()
			// One that does not read is left when the engine ends.
			stop := context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Now().Add(leaveTimeout)) })
			defer stop()
			s.serve(ctx, conn)
		})
	}
}

// leaveTimeout is how long a client may take what it is told when the engine ends.
const leaveTimeout = 2 * time.Second

// requestTimeout is how long a client may take to say what it wants.
const requestTimeout = 10 * time.Second

// serve answers one client.
func (s *service) serve(ctx context.Context, conn net.Conn) {
	c := &client{
		conn:  conn,
		read:  json.NewDecoder(conn),
		write: json.NewEncoder(conn),
	}

	_ = conn.SetReadDeadline(time.Now().Add(requestTimeout)) // a socket has deadlines
	var ask Request
	if err := c.read.Decode(&ask); err != nil {
		return // somebody looked whether the engine lives
	}
	_ = conn.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	if err := s.carryOut(ctx, cancel, c, ask); err != nil {
		s.options.Log.Info("a request was refused", "error", err)
		c.say(Event{Refused: refusalOf(err)})
	}
}

// carryOut does what a client asks for.
func (s *service) carryOut(ctx context.Context, cancel func(), c *client, ask Request) error {
	switch {
	case ask.Run != nil:
		return s.run(ctx, cancel, c, *ask.Run)
	case ask.Linux != nil:
		return s.runLinux(ctx, cancel, c, *ask.Linux)
	case ask.Explain != nil:
		return s.explain(ctx, c, *ask.Explain)
	case ask.Exec != nil:
		return s.exec(ctx, cancel, c, *ask.Exec)
	case ask.Start != "":
		return s.start(ctx, cancel, c, ask.Start)
	case ask.End:
		s.end()
		return nil
	default:
		if done, err := s.imageAsked(ctx, c, ask); done {
			return err
		}
		return s.manage(ctx, c, ask)
	}
}

// imageAsked does what a client asks for of images, if it does.
func (s *service) imageAsked(ctx context.Context, c *client, ask Request) (done bool, err error) {
	switch {
	case ask.Load != nil:
		return true, s.load(ctx, c, *ask.Load)
	case ask.Save != nil:
		return true, s.save(ctx, c, *ask.Save)
	case ask.Tag != nil:
		return true, s.tag(ctx, c, *ask.Tag)
	case ask.HasImage != "":
		return true, s.hasImage(ctx, c, ask.HasImage)
	case ask.Images:
		return true, s.listImages(ctx, c, ask.Builds)
	case ask.Pull != nil:
		return true, s.pull(ctx, c, *ask.Pull)
	case ask.RemoveImage != "":
		return true, s.removeImage(ctx, c, ask.RemoveImage, ask.ForceImage)
	}
	return false, nil
}

// refusalOf returns what a client is told of an error.
func refusalOf(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	return &Refusal{Code: CodeFailed, Message: err.Error()}
}

// client is the engine's end of a client's connection.
type client struct {
	conn net.Conn
	read *json.Decoder

	mu    sync.Mutex
	write *json.Encoder
}

// say tells the client something. One that is gone is noticed by who reads.
func (c *client) say(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.write.Encode(e)
}

// idle ends the engine when it has had no client for a while.
type idle struct {
	after time.Duration
	timer *time.Timer

	mu      sync.Mutex
	clients int
}

func newIdle(after time.Duration, end func()) *idle {
	return &idle{after: after, timer: time.AfterFunc(after, end)}
}

// enter counts a client until leave is called.
func (i *idle) enter() (leave func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.clients++
	i.timer.Stop()
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.clients--; i.clients == 0 {
			i.timer.Reset(i.after)
		}
	}
}
