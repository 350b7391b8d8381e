package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/internal/windows/wire/services"
)

// Times of the keeper: how often it looks, how often it asks for the state of a service whose process is there all the
// time, how long a service has to have run to be one that works, and how many milliseconds after a failure the service
// control manager starts the service again.
//
// A question to the manager goes through Wine's server some thirty times, in three processes. Two a second for each of
// an idle host's services were a tenth of what the host did.
const (
	lookEvery    = 500 * time.Millisecond
	askEvery     = 10 * time.Second
	settled      = 3 * time.Second
	restartDelay = 1000
)

// mostStarts is how often a service that does not answer in time is started in all.
const mostStarts = 3

// logSize is the size in bytes at which the service's log begins anew. Its text has been copied by then.
const logSize = 16 << 20

const rights = services.QueryConfig | services.ChangeConfig | services.QueryStatus | services.StartRight |
	services.StopRight

// System is what the keeper needs beside the service control manager.
type System interface {
	// Watch has the service control manager watch services, and give them where to write. It may have been done.
	Watch(ctx context.Context) error
	// Output makes a file the standard output and the standard error of a service.
	Output(service, file string) error
	// Environ gives a service variables beside the machine's, and takes those that it had.
	Environ(service string, variables []string) error
	// Line is a command line of a program with its arguments.
	Line(args []string) string
	// Ended returns a channel that is closed when the process of that id has ended, or an error if there is none.
	Ended(pid uint32) (<-chan struct{}, error)
}

// Run makes the service, starts it, and keeps it until ctx ends. A service that fails before it has run for a while is
// an error; later failures are the service control manager's to mend.
func Run(ctx context.Context, m services.Manager, system System, o Options, out io.Writer) error {
	if err := system.Watch(ctx); err != nil {
		return fmt.Errorf("have services watched: %w", err)
	}
	h, err := prepare(m, system, o)
	if err != nil {
		return fmt.Errorf("make service %s: %w", o.Name, err)
	}
	defer func() { _ = h.Close() }() // nothing is lost

	k := &keeper{
		Options: o,
		service: h,
		system:  system,
		out:     out,
	}
	if err := k.openLog(); err != nil {
		return err
	}

	defer func() { _ = k.log.Close() }() // it was read

	if err := k.say(Starting); err != nil {
		return err
	}
	if err := start(h); err != nil && !errors.Is(err, services.AlreadyRunning) {
		return errors.Join(fmt.Errorf("start service %s: %w", o.Name, err), k.copyLog())
	}

	return k.keep(ctx)
}

// prepare makes the service, or changes the one that is there, which is stopped first.
func prepare(m services.Manager, system System, o Options) (services.Handle, error) {
	binary, account := system.Line(o.Command), "LocalSystem"
	change := services.Change{
		Type:         services.OwnProcess,
		Start:        services.StartDemand,
		ErrorControl: services.ErrorNormal,
		Binary:       &binary,
		Account:      &account,
	}

	h, err := m.Open(o.Name, rights)
	if errors.Is(err, services.DoesNotExist) {
		if err := m.Create(o.Name, change); err != nil {
			return nil, err
		}
		h, err = m.Open(o.Name, rights)
	}
	if err != nil {
		return nil, err
	}

	err = errors.Join(stop(h), h.Change(change), h.Describe(o.Description),
		h.SetFailure(services.Failure{Actions: []services.Action{{Type: services.ActionRestart, Delay: restartDelay}}}),
		system.Output(o.Name, o.Log), o.setEnvironment(system))
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}

	return h, nil
}

// setEnvironment gives the service the variables of its file.
func (o Options) setEnvironment(system System) error {
	if o.Environment == "" {
		return nil
	}
	text, err := os.ReadFile(o.Environment)
	if err != nil {
		return fmt.Errorf("read the environment of the service: %w", err)
	}
	return system.Environ(o.Name, strings.Fields(string(text)))
}

// start starts a service, again if it does not answer in time, as on a machine that is busy: what it needs is in the
// machine's memory then.
func start(h services.Handle) error {
	for try := 1; ; try++ {
		if err := h.Start(nil); !errors.Is(err, services.RequestTimeout) || try == mostStarts {
			return err
		}
	}
}

// stop stops a service that runs.
func stop(h services.Handle) error {
	is, err := h.Status()
	if err != nil || is.State == services.Stopped {
		return err
	}
	if _, err := h.Control(services.ControlStop); err != nil && !errors.Is(err, services.NotActive) {
		return err
	}
	_, err = services.AwaitStop(h)
	return err
}

// keeper is a service that is kept.
type keeper struct {
	Options
	service services.Handle
	system  System
	out     io.Writer
	log     *os.File
	said    string
	// ended is closed when the process has ended with which the service ran at the last look; nil: it did not run.
	ended <-chan struct{}
	asked time.Time
	// since is when the service was first seen running. A busy machine may take long to start one, or to tell of its
	// end, so the time from its start says nothing.
	since time.Time
	// pid is that of the process that was seen last.
	pid uint32
}

// openLog opens the service's log at its end.
func (k *keeper) openLog() error {
	err := os.MkdirAll(filepath.Dir(k.Log), 0o700)
	if err == nil {
		k.log, err = os.OpenFile(k.Log, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err == nil {
		_, err = k.log.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return fmt.Errorf("open the log of service %s: %w", k.Name, err)
	}
	return nil
}

// copyLog copies what the service has written since.
func (k *keeper) copyLog() error {
	if _, err := io.Copy(k.out, k.log); err != nil {
		return fmt.Errorf("copy the log of service %s: %w", k.Name, err)
	}

	at, err := k.log.Seek(0, io.SeekCurrent)
	if err != nil || at < logSize {
		return err
	}
	if err := k.log.Truncate(0); err != nil {
		return fmt.Errorf("begin the log of service %s anew: %w", k.Name, err)
	}
	_, err = k.log.Seek(0, io.SeekStart)
	return err
}

// say writes the state file, whole or not at all.
func (k *keeper) say(state string) error {
	if state == k.said {
		return nil
	}

	k.said = state
	if err := os.MkdirAll(filepath.Dir(k.State), 0o700); err != nil {
		return err
	}
	written := k.State + ".new"
	if err := os.WriteFile(written, []byte(state), 0o600); err != nil {
		return err
	}
	return os.Rename(written, k.State)
}

// keep follows the service until ctx ends.
func (k *keeper) keep(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()

	last := services.Status{}
	for {
		if err := k.copyLog(); err != nil {
			return err
		}
		is, err := k.look(last)
		if err != nil {
			return err
		}

		// A run may begin and end between two looks: its exit code tells it from the one before.
		if is.State != last.State || is.PID != last.PID || is.Exit != last.Exit {
			last = is
			if err := k.tell(is); err != nil {
				return err
			}
		}

		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look returns the service's state, which is that of the last look while its process is there.
func (k *keeper) look(last services.Status) (services.Status, error) {
	select {
	case <-k.ended:
		k.ended = nil
	default:
	}

	if k.ended != nil && time.Since(k.asked) < askEvery {
		return last, nil
	}

	is, err := k.service.Status()
	if err != nil {
		return is, err
	}

	k.asked = time.Now()
	switch {
	case is.State != services.Running || is.PID == 0:
		k.ended = nil
	case k.ended == nil || is.PID != last.PID:
		if k.ended, err = k.system.Ended(is.PID); err != nil {
			k.ended = nil // it has ended meanwhile, and the next look says so
		}
	}

	return is, nil
}

// tell says what has become of the service since the last look. It is an error if it ended before it had run for a
// while: it is stopped, or the service control manager has started it again, as another process.
func (k *keeper) tell(is services.Status) error {
	if is.State == services.Running && k.since.IsZero() {
		k.since = time.Now()
	}
	hasSettled := !k.since.IsZero() && time.Since(k.since) >= settled
	again := is.PID != 0 && k.pid != 0 && is.PID != k.pid
	if is.PID != 0 { // between two processes there is none
		k.pid = is.PID
	}

	state, said := "", "runs"
	switch {
	case is.State == services.Stopped && is.Exit == 0:
		state, said = Stopped, "was stopped by hand"
	case !hasSettled && (is.State == services.Stopped || again):
		return fmt.Errorf("service %s ended soon after its start, with code %d", k.Name, is.Exit)
	case is.State == services.Stopped:
		said = fmt.Sprintf("ended with code %d; the service control manager starts it again", is.Exit)
	case is.State != services.Running:
		state, said = k.said, ""
	}

	if said != "" {
		fmt.Fprintf(k.out, "mullion-service: %s %s\n", k.Name, said)
	}
	return k.say(state)
}

// ReadState reports whether a state file says that its service was stopped by hand.
func ReadState(text []byte) bool { return strings.TrimSpace(string(text)) == Stopped }
