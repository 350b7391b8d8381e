package single

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/windows/wine"
)

// container is a container that runs for a client.
type container struct {
	*room
	service *service
	client  *client
	ask     Run
	id      string
	network *nat.Member
	ended   chan struct{} // closed when PID 1 has ended
	exit    engine.Exit
	// user is the Windows user of its programs, before the registry with which it began.
	user   string
	before wine.Registry
}

// run makes a container for a client and returns when it is gone. cancel ends ctx.
func (s *service) run(ctx context.Context, cancel func(), c *client, ask Run) (err error) {
	p := s.options.Paths
	if name := ask.Streams; name != filepath.Base(name) || !strings.HasPrefix(name, streamsPrefix) {
		return fmt.Errorf("connect streams: %q is no folder of streams", name)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.streams(ask.Streams))) }()
	told := c.sayLater(patience, Event{Doing: "starting; the first time, Windows is prepared, which takes a while"})
	r, err := s.room(ctx, ask.Windows)
	told()
	if err != nil {
		return err
	}
	k := &container{room: r, service: s, client: c, ask: ask, id: newID(), ended: make(chan struct{})}
	var undo cleanup.Stack
	defer func() { err = errors.Join(err, undo.Clean()) }()
	if err := k.make(ctx, &undo); err != nil {
		return err
	}
	if err := k.remember(ctx); err != nil {
		return err
	}
	if _, err := r.engine.Start(ctx, k.id, k.streams()); err != nil {
		return err
	}
	s.background.Go(k.wait)
	if ask.Terminal && ask.Columns > 0 {
		k.resize(ctx, ask.Columns, ask.Rows)
	}
	end, err := k.live(ctx, cancel)
	if err != nil {
		return err
	}
	if ask.Layer != "" && end == (End{}) {
		if err := k.writeLayer(ctx); err != nil {
			return err
		}
	}
	if err := undo.Clean(); err != nil {
		return err
	}
	c.say(Event{Ended: &end})
	return nil
}

// streams are the pipes of the program's streams, which its client has made.
func (k *container) streams() engine.IO {
	dir := k.service.options.Paths.streams(k.ask.Streams)
	stdio := engine.IO{Terminal: k.ask.Terminal, Stdout: filepath.Join(dir, "stdout")}
	if k.ask.Stdin {
		stdio.Stdin = filepath.Join(dir, "stdin")
	}
	if !k.ask.Terminal {
		stdio.Stderr = filepath.Join(dir, "stderr")
	}
	return stdio
}

// patience is how long nothing is said of what may be over soon.
const patience = 700 * time.Millisecond

// sayLater tells the client something unless the result is called before.
func (c *client) sayLater(after time.Duration, e Event) (over func()) {
	timer := time.AfterFunc(after, func() { c.say(e) })
	return func() { timer.Stop() }
}

func newID() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never returns an error: https://pkg.go.dev/crypto/rand#Read
	return hex.EncodeToString(b[:])
}

// wait waits for the end of PID 1.
func (k *container) wait() {
	exit, err := k.engine.Wait(context.WithoutCancel(k.service.life), k.id)
	if err != nil {
		exit = engine.Exit{Code: engine.UnknownExit, At: time.Now()}
	}
	k.exit = exit
	close(k.ended)
}

// reportName and envName are files of a container's working folder: how its program fared, and its environment.
const (
	reportName = "report"
	envName    = "env"
)

func (k *container) outcome() (cri.Outcome, error) {
	return cri.ReadOutcome(filepath.Join(workDir(k.service.options.Paths, k.id), reportName))
}

// live returns when the container has ended: by itself, or because its client wants it to, or is gone.
func (k *container) live(ctx context.Context, cancel func()) (End, error) {
	k.service.background.Go(func() { k.listen(ctx, cancel) })
	if err := k.awaitStart(ctx); err != nil {
		return End{}, errors.Join(err, k.kill(ctx))
	}
	select {
	case <-k.ended:
	case <-ctx.Done():
		return End{}, errors.Join(errors.New("the client is gone"), k.kill(ctx))
	}
	outcome, err := k.outcome()
	end := End{Code: k.exit.Code, Killed: true}
	if err == nil && outcome.Exited && k.exit.Code != uint32(sigkilled) {
		end = End{Code: outcome.Code}
	}
	return end, err
}

// sigkilled is how Linux says that a process was killed: 128 and the signal's number.
const sigkilled = 128 + int(unix.SIGKILL)

// startTimeout is how long a program may take to start before it is believed to run: a loaded machine is slow.
const startTimeout = 20 * time.Second

// awaitStart waits until the program says how its start went, or has ended.
func (k *container) awaitStart(ctx context.Context) error {
	late := time.After(startTimeout)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for over := false; ; {
		o, err := k.outcome()
		switch {
		case err != nil:
			return err
		case o.Failed:
			return notStarted(o)
		case o.Started || o.Exited:
			k.client.say(Event{Started: k.id})
			return nil
		case over:
			return fmt.Errorf("start the program: its container ended with %d before it ran", k.exit.Code)
		}
		select {
		case <-k.ended:
			over = true // it may have said something since
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return nil
		case <-tick.C:
		}
	}
}

// Windows' errors for a program that is not there
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes--0-499-).
const (
	errorFileNotFound = 2
	errorPathNotFound = 3
)

// notStarted is why a program did not start, in Windows' words, with Docker's code for it.
func notStarted(o cri.Outcome) error {
	r := &Refusal{Code: CodeCannotStart, Message: fmt.Sprintf("start the program: %s (0x%x)",
		strings.TrimSpace(o.Message), o.Code)}
	if o.Code == errorFileNotFound || o.Code == errorPathNotFound {
		r.Code = CodeNotFound
		r.Remedy = "name a program that is in the container; `cmd /c dir /s /b C:\\` shows what is there"
	}
	return r
}

// listen does what the client says until it is gone, which ends its container.
func (k *container) listen(ctx context.Context, cancel func()) {
	defer cancel()
	for {
		var c Control
		if err := k.client.read.Decode(&c); err != nil {
			return
		}
		switch {
		case c.Signal != "":
			k.signal(ctx, c.Signal)
		case c.InputEnded:
			if err := k.engine.CloseStdin(ctx, k.id); err != nil {
				k.service.options.Log.Debug("input not closed", "container", k.id, "error", err)
			}
		case c.Columns > 0:
			k.resize(ctx, c.Columns, c.Rows)
		}
	}
}

func (k *container) resize(ctx context.Context, columns, rows uint16) {
	if err := k.engine.Resize(ctx, k.id, columns, rows); err != nil {
		k.service.options.Log.Debug("console not resized", "container", k.id, "error", err)
	}
}

// signal delivers a control event to the program, or kills the container.
func (k *container) signal(ctx context.Context, signal Signal) {
	var err error
	switch signal {
	case Interrupt:
		err = k.engine.Signal(ctx, k.id, unix.SIGINT, false)
	case Stop:
		err = k.engine.Signal(ctx, k.id, unix.SIGTERM, false)
		k.service.background.Go(func() {
			select {
			case <-k.ended:
			case <-ctx.Done():
			case <-time.After(k.ask.StopTimeout):
				_ = k.kill(ctx) // an error is that of the removal too
			}
		})
	default:
		err = k.kill(ctx)
	}
	if err != nil {
		k.service.options.Log.Warn("container not told", "container", k.id, "signal", signal, "error", err)
	}
}

// kill ends everything in the container at once.
func (k *container) kill(ctx context.Context) error {
	return k.engine.Signal(context.WithoutCancel(ctx), k.id, unix.SIGKILL, true)
}
