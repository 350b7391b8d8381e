package single

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/windows/wine"
)

// container is a container from the moment that it is asked for until its end is noted.
type container struct {
	*room
	program
	service  *service
	client   *client
	ask      Run
	id, name string
	outputs  *outputs
	// starts is closed when the container is about to be started, made when Linux runs it, begun when the program runs,
	// over when its end is noted: end, and why where it is not the program's own.
	starts, made, begun, over chan struct{}
	end                       End
	why                       string
	// cancel ends the container's life: what runs is killed, and what is not yet made is not made. It is called when
	// the client is gone, until untie is called, which reports whether it still was there.
	cancel func()
	untie  func() bool
	// inherited is what the program gets of the image, user the Windows user of its programs, before the registry with
	// which it began.
	inherited cri.Inherited
	user      string
	before    wine.Registry
	labels    map[string]string
	// imageID and imageTarget are what Container has by these names; before the image is found, those of its last run.
	imageID, imageTarget string
	// byItself says that nobody has asked for this run, before which was a pause.
	byItself bool
	pause    time.Duration
	// anew says that it has run before, sources what its mounts are, or were then.
	anew    bool
	sources []Source
	network *nat.Member
	// volumes are the names of those that are ready for it, under the register's lock.
	volumes []string
	// check is how it is asked for its health; nil: nobody asks.
	check *HealthCheck
}

// ports returns the ports that are published.
func (k *container) ports() []nat.Port {
	if k.network == nil || k.network.Ports == nil {
		return []nat.Port{}
	}
	return k.network.Ports
}

// address returns the container's own address; not valid: it has none.
func (k *container) address() netip.Addr {
	if k.network == nil {
		return netip.Addr{}
	}
	return k.network.Addr
}

// run makes a container for a client. It returns when it is gone, or when its program runs, if it is to live on. cancel
// ends ctx, which ends with the client.
func (s *service) run(ctx context.Context, cancel func(), c *client, ask Run) (err error) {
	if err := CheckName(ask.Name); err != nil {
		return err
	}
	if ask.Mounts, err = named(ask.Mounts); err != nil {
		return err
	}
	if ask.Health != nil {
		if err := ask.Health.Check(); err != nil {
			return err
		}
	}
	return s.begin(ctx, cancel, c, beginning{
		ask:   ask,
		id:    newID(),
		enter: s.register.add,
	})
}

// beginning is a container that is made, for the first time or again.
type beginning struct {
	ask Run
	id  string
	// enter takes the container in.
	enter func(*container) error
}

// begin makes a container for a client.
//
//nolint:contextcheck // A container may outlive its client.
func (s *service) begin(ctx context.Context, cancel func(), c *client, b beginning) (err error) {
	ask := b.ask
	if !ask.Detach {
		if err := checkStreams(ask.Streams); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(s.options.Paths.streams(ask.Streams))) }()
	}
	if err := s.canJoin(ask); err != nil {
		return err
	}

	told := c.sayLater(patience, Event{Doing: "starting; the first time, Windows is prepared, which takes a while"})
	r, err := s.room(ctx, ask.Windows)
	told()
	if err != nil {
		return err
	}

	k := &container{
		room:    r,
		service: s,
		client:  c,
		ask:     ask,
		id:      b.id,
	}

	k.starts, k.made = make(chan struct{}), make(chan struct{})
	k.begun, k.over = make(chan struct{}), make(chan struct{})
	k.program = newProgram(filepath.Join(workDir(s.options.Paths, k.id), reportName))
	life, end := context.WithCancel(s.life)
	k.cancel = end
	if err := b.enter(k); err != nil {
		end()
		return err
	}

	k.untie = context.AfterFunc(ctx, end)
	s.background.Go(func() { s.listen(ctx, cancel, c, k) })
	done := make(chan error, 1)
	leave := s.idle.enter()
	s.background.Go(func() {
		defer leave()
		defer end()
		err := k.live(life)
		if err != nil && k.runs() {
			s.options.Log.Info("a container has ended, and not by itself", "container", k.name, "error", err)
		}
		done <- err
		if k.runs() { // else whoever has it begin hears of it
			s.restart(k.id, pauseAfter(k.pause, k.ran()))
		}
	})

	if ask.Detach {
		select {
		case <-k.begun:
		case err := <-done:
			if err != nil {
				return err
			}
		}

		c.say(Event{Started: k.id})
		return nil
	}

	if err := <-done; err != nil {
		return err
	}
	k.outputs.passedOn(ctx)
	c.say(Event{Ended: &k.end})
	return nil
}

// ran returns how long the container's program ran.
func (k *container) ran() time.Duration {
	c, known := k.service.register.get(k.id)
	if !known || !k.runs() {
		return 0
	}
	return c.Finished.Sub(c.Started)
}

// checkStreams refuses what is no name of a folder of streams.
func checkStreams(name string) error {
	if name != filepath.Base(name) || !strings.HasPrefix(name, streamsPrefix) {
		return fmt.Errorf("connect streams: %q is no folder of streams", name)
	}
	return nil
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

// live is the whole life of a container. ctx ends it.
func (k *container) live(ctx context.Context) (err error) {
	var undo cleanup.Stack
	defer func() {
		err = errors.Join(err, undo.Clean(), k.finish())
		if k.outputs != nil && (err != nil || k.ask.Detach) {
			k.outputs.close()
		}
		close(k.over)
	}()

	if err := k.make(ctx, &undo); err != nil {
		return err
	}
	if err := k.remember(ctx); err != nil {
		return err
	}
	if k.outputs, err = k.connect(ctx); err != nil {
		return err
	}

	k.client.say(Event{Begins: true})
	if err := k.startProgram(ctx); err != nil {
		return err
	}
	if err := k.comesUp(ctx); err != nil {
		return errors.Join(err, k.kill(ctx))
	}

	close(k.begun)
	if !k.ask.Detach {
		k.client.say(Event{Started: k.id})
	}
	unwatch := k.watchHealth(ctx)
	err = k.awaitEnd(ctx)
	unwatch()
	if err != nil {
		return err
	}

	if k.ask.Layer != "" && k.end == (End{}) {
		return k.writeLayer(ctx)
	}
	return nil
}

// startProgram starts the first process of a container that is made.
func (k *container) startProgram(ctx context.Context) error {
	close(k.starts)
	if _, err := k.engine.Start(ctx, k.id, k.outputs.io); err != nil {
		k.outputs.close() // nobody writes
		return err
	}

	close(k.made)
	k.service.background.Go(k.wait)
	if k.ask.Terminal && k.ask.Columns > 0 {
		_ = k.resize(ctx, k.ask.Columns, k.ask.Rows) // it has a size, if another
	}
	return nil
}

// comesUp waits until the program runs, and notes it. A container that lives on is not its client's from then on.
func (k *container) comesUp(ctx context.Context) error {
	if err := k.awaitStart(ctx); err != nil {
		return err
	}
	if k.ask.Detach && !k.untie() { // before it hears that it may go
		return errClientGone
	}
	return k.service.register.begun(k)
}

var errClientGone = errors.New("its client is gone")

// awaitEnd returns when the program has ended: by itself, or because its life is over.
func (k *container) awaitEnd(ctx context.Context) (err error) {
	select {
	case <-k.ended:
		k.end, err = k.howEnded()
		return err
	case <-ctx.Done():
	}
	k.end = End{Code: sigkilled, Killed: true}
	k.why = errClientGone.Error()
	if k.service.life.Err() != nil {
		k.why = "the engine has ended"
	}
	return errors.Join(errors.New(k.why), k.kill(ctx))
}

// finish notes the end of a container, of which nothing runs any more.
func (k *container) finish() error {
	if k.outputs != nil {
		k.outputs.finish(drainTimeout)
	}
	return k.service.register.over(k, k.end, k.why)
}

// wait waits for the end of PID 1.
func (k *container) wait() {
	k.hasEnded(k.engine.Wait(context.WithoutCancel(k.service.life), k.id))
}

// reportName and envName are files of a container's working folder: how its program fared, and its environment.
const (
	reportName = "report"
	envName    = "env"
)

func (k *container) unmade() bool { return !closed(k.starts) }

func (k *container) ready() <-chan struct{} { return k.made }

func (k *container) closeStdin(ctx context.Context) error { return k.engine.CloseStdin(ctx, k.id) }

func (k *container) resize(ctx context.Context, columns, rows uint16) error {
	return k.engine.Resize(ctx, k.id, columns, rows)
}

// signal delivers a control event to the program, or kills the container.
func (k *container) signal(ctx context.Context, signal Signal) error {
	switch signal {
	case Interrupt:
		return k.engine.Signal(ctx, k.id, unix.SIGINT, false)
	case Stop:
		k.service.background.Go(func() { _ = k.stop(ctx, k.ask.StopTimeout) }) // an error is that of the removal too
		return nil
	default:
		return k.kill(ctx)
	}
}

// stop tells the program to end, and kills the container when it has not after a while; below 0: never.
func (k *container) stop(ctx context.Context, timeout time.Duration) error {
	if err := k.engine.Signal(ctx, k.id, unix.SIGTERM, false); err != nil {
		return err
	}
	var late <-chan time.Time
	if timeout >= 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}

	select {
	case <-k.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return k.kill(ctx)
	}
}

// kill ends everything in the container at once.
func (k *container) kill(ctx context.Context) error {
	return k.engine.Signal(context.WithoutCancel(ctx), k.id, unix.SIGKILL, true)
}
