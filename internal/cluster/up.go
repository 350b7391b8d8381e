package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// pollInterval is how often Up asks the supervisor how it goes, at first (proc.Pace).
const pollInterval = 100 * time.Millisecond

// Progress is what Up reports while it waits.
type Progress struct {
	Elapsed time.Duration
	Units   []supervisor.UnitStatus
}

// UpOptions is what Up needs.
type UpOptions struct {
	Spec  spec.Cluster
	Paths layout.Paths
	// Executable is the mullion program that becomes the supervisor.
	Executable string
	Environ    []string
	Progress   func(Progress)
	// LogLevel is how much Mullion's programs log from now on; nil: as before.
	LogLevel *logging.Level
	// Nice has all of the cluster give way to the machine's other work, or not, from now on; nil: as before.
	Nice *bool
	// Retain keeps what a new cluster that did not come up has made, to be looked at.
	Retain bool

	// Mended, unless nil, gets a line for each thing that others had taken from a cluster that is up, and that was made
	// again.
	Mended func(string)

	folder folder // the data folder as it was found or made
}

// Up makes sure that a supervisor runs the cluster of the specification, and returns when all parts are ready. If the
// data folder holds another cluster, it returns a ConflictError and changes nothing. If a part of a new cluster does
// not start, Up removes the cluster again, unless UpOptions.Retain is set. It never removes a cluster that was there
// before.
//
// Its way is start, which settles the specification with the one that is there (settle), and then grow, for a cluster
// that gets more, or supervised, which starts a supervisor (startSupervisor) and waits for all parts (wait). Each of
// them that takes the cluster shares the lock of its caller, if the caller has it (hold.Take).
func Up(ctx context.Context, o UpOptions) (spec.Cluster, error) {
	ctx, held, err := hold.Take(ctx, o.Paths.Run())
	if err != nil {
		return o.Spec, busy(err)
	}
	defer held.Release()
	_, statErr := os.Stat(o.Paths.Spec())
	if err := claimData(o.Paths); err != nil {
		return o.Spec, err
	}

	folder, err := watchFolder(o.Paths)
	if err != nil {
		return o.Spec, err
	}
	defer folder.Close()
	c, err := start(ctx, o, folder)
	isNew := errors.Is(statErr, os.ErrNotExist)
	if err == nil || !isNew || o.Retain || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) || errors.Is(err, ErrTakenDown) {
		return c, err
	}

	defer interrupt.Finishing(ctx)()
	return c, errors.Join(err, removeOwn(context.WithoutCancel(ctx), o.Paths, folder))
}

// removeOwn takes down the cluster of a folder, unless another command has done so meanwhile.
func removeOwn(ctx context.Context, paths layout.Paths, own folder) error {
	ctx, held, err := hold.Take(ctx, paths.Run())
	if err != nil {
		return busy(err)
	}
	defer held.Release()
	if !own.isThere() {
		return nil
	}
	return Down(ctx, paths, func(string) {})
}

// claimData makes the data folder, or finds that it is one of Mullion's; else it is a ConflictError.
func claimData(paths layout.Paths) error {
	if paths.Leftover() {
		return &ConflictError{
			Err:    fmt.Errorf("data folder %q holds the remains of a `mullion join` that was interrupted", paths.Data),
			Remedy: "`mullion leave` removes them, here and in the cluster; or use another --data-dir",
		}
	}
	if err := paths.Prepare(); err != nil {
		return &ConflictError{Err: err, Remedy: "choose another --data-dir"}
	}
	return nil
}

// Start is Up for a prepared data folder, but does not remove a cluster that does not come up. A join uses it, because
// a join has to undo something elsewhere first.
func Start(ctx context.Context, o UpOptions) (spec.Cluster, error) {
	ctx, held, err := hold.Take(ctx, o.Paths.Run())
	if err != nil {
		return o.Spec, busy(err)
	}
	defer held.Release()
	folder, err := watchFolder(o.Paths)
	if err != nil {
		return o.Spec, err
	}
	defer folder.Close()
	return start(ctx, o, folder)
}

// start is Start for a cluster that is held, whose folder is watched. It does not hold the cluster any more when its
// supervisor does.
func start(ctx context.Context, o UpOptions, folder folder) (spec.Cluster, error) {
	ctx, held, err := hold.Take(ctx, o.Paths.Run())
	if err != nil {
		return o.Spec, busy(err)
	}
	defer held.Release()
	o.folder = folder
	c, smaller, err := settle(o.Spec, o.Paths, o.Environ)
	if err != nil {
		return c, err
	}

	if err := note(ctx, o, c); err != nil {
		return c, err
	}
	if smaller != nil {
		return c, grow(ctx, o, held, *smaller, c)
	}
	if err := o.supervised(ctx, held); err != nil {
		return c, err
	}
	return c, stillHas(o.Paths, c)
}

// note writes down what the options say of a cluster besides its specification.
func note(ctx context.Context, o UpOptions, c spec.Cluster) error {
	if o.LogLevel != nil {
		if err := SetLogLevel(ctx, o.Paths, c.Nodes, *o.LogLevel); err != nil {
			return err
		}
	}
	if o.Nice != nil {
		if err := SetNice(ctx, o.Paths, *o.Nice); err != nil {
			return err
		}
	}
	return view.Note(o.Paths.Viewers(), o.Environ)
}

// supervised returns when a supervisor has all parts of the cluster ready: the one that is there, or a new one.
func (o UpOptions) supervised(ctx context.Context, held *hold.Held) error {
	client := supervisor.NewClient(o.Paths.Socket())
	status, err := client.Status(ctx)
	if err == nil && status.Phase != supervisor.PhaseReady && status.Phase != supervisor.PhaseStarting {
		if err := stopSupervisor(ctx, o.Paths); err != nil {
			return err
		}
		err = os.ErrNotExist
	}
	if err != nil {
		ended, err := startSupervisor(ctx, o, held)
		if err != nil {
			return err
		}
		return wait(ctx, client, o, ended)
	}

	held.HandOver()
	if err := wait(ctx, client, o, nil); err != nil {
		return err
	}
	if err := switchAllOn(ctx, client); err != nil {
		return err
	}
	return mend(ctx, client, o.Mended)
}

// mend has a cluster that is up looked at for what others have taken from it, and says what was made again.
func mend(ctx context.Context, client *supervisor.Client, said func(string)) error {
	what, err := client.Mend(ctx)
	for _, line := range what {
		if said != nil {
			said("mended: " + line)
		}
	}
	if err != nil {
		return fmt.Errorf("look after the cluster's network: %w", err)
	}
	return nil
}

// settle compares the wanted specification with the one in the data folder and keeps the API server's port. A new
// cluster gets the proxy of the environment, if the specification says nothing of one; later the one that it got, and
// so its registry. If the wanted cluster only has more than the one that is there (onlyAdds), it does not write, and
// smaller is the one that is there: the cluster has to grow. Else smaller is nil.
func settle(want spec.Cluster, paths layout.Paths, environ []string) (
	c spec.Cluster, smaller *spec.Cluster, err error,
) {
	have, err := paths.LoadSpec()
	switch {
	case errors.Is(err, os.ErrNotExist):
		if want.Proxy == nil {
			want.Proxy, _ = spec.ProxyFrom(environ) // one that nodes cannot use is none
		}
	case err != nil:
		return want, nil, err
	default:
		return compare(have, want, paths)
	}

	if err := CheckUnderlay(want, paths); err != nil {
		return want, nil, err
	}
	if want.Join != nil || want.Docker != nil { // the API server is on another machine, or there is none
		return want, nil, paths.SaveSpec(want)
	}

	if err := checkRegistry(want); err != nil {
		return want, nil, err
	}
	port, err := choosePort(want.Networking.APIServerAddress, want.Networking.APIServerPort)
	if err != nil {
		return want, nil, err
	}
	want.Networking.APIServerPort = port
	return want, nil, paths.SaveSpec(want)
}

// compare is settle for a cluster that is there.
func compare(have, want spec.Cluster, paths layout.Paths) (c spec.Cluster, smaller *spec.Cluster, err error) {
	if want.Proxy == nil {
		want.Proxy = have.Proxy
	}
	if want.Networking.APIServerPort == 0 {
		want.Networking.APIServerPort = have.Networking.APIServerPort
	}
	if want.Registry == nil {
		want.Registry = have.Registry
	}
	if adds, err := onlyAdds(have, want); adds || err != nil {
		if adds && have.Registry == nil {
			err = checkRegistry(want)
		}
		return want, &have, err
	}

	differ, err := differences(have, want)
	if err != nil {
		return want, nil, err
	}

	if len(differ) > 0 {
		return want, nil, &ConflictError{
			Err: fmt.Errorf("data folder %q holds cluster %q of another specification: %s", paths.Data, have.Name,
				listed(differ)),
			Remedy: "nodes can be added after those that are there, a registry can be added, and networking.externalNodes " +
				"can be changed; nothing else; `mullion down` removes the cluster; or use another --data-dir, and another name and underlay subnet, to have both",
		}
	}

	return have, nil, nil
}

// leastStartLimit is how long every part may take to start, even if the caller waits for less time.
const leastStartLimit = 5 * time.Minute

// startSupervisor starts the supervisor, hands the cluster over to it, and returns a channel that is closed when the
// supervisor has ended. Each part may take as long to start as the caller waits for all.
func startSupervisor(ctx context.Context, o UpOptions, held *hold.Held) (<-chan struct{}, error) {
	limit := leastStartLimit
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(limit, time.Until(deadline).Round(time.Second))
	}
	logPath := filepath.Join(o.Paths.Logs(), "supervisor.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}

	defer log.Close()
	// it outlives this command
	cmd := exec.Command(o.Executable, "--data-dir", o.Paths.Data, "supervise", "--start-limit", limit.String(),
		"--held", strconv.Itoa(heldDescriptor))
	cmd.Env = append(spec.WithoutProxy(o.Environ), proc.MarkerVariable+"="+o.Paths.Data)

	// If this process is killed now, nobody holds the cluster before the supervisor has found its place.
	cmd.ExtraFiles = []*os.File{held.File()}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}

	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its log says why it ended
		close(ended)
	}()

	return ended, handOver(ctx, o.Paths, held, ended)
}

// heldDescriptor is the first of ExtraFiles in a child (exec.Cmd).
const heldDescriptor = 3

// handOver waits until the supervisor has the data folder's own lock, or has ended, and lets go of the cluster.
func handOver(ctx context.Context, paths layout.Paths, held *hold.Held, ended <-chan struct{}) error {
	defer held.HandOver()
	tick := time.NewTicker(handOverInterval)
	defer tick.Stop()
	for !locked(paths) {
		select {
		case <-ended:
			return nil // wait says so
		case <-ctx.Done():
			return fmt.Errorf("wait for the supervisor: %w", ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// handOverInterval is the time between two looks for the supervisor's lock.
const handOverInterval = 20 * time.Millisecond

// wait follows the supervisor until the cluster is ready or a part has failed. ended is closed when a supervisor that
// was just started has ended; it is nil if one was there already.
func wait(ctx context.Context, client *supervisor.Client, o UpOptions, ended <-chan struct{}) error {
	started := time.Now()
	var last supervisor.Status
	for {
		if !o.folder.isThere() {
			return fmt.Errorf("wait for the cluster: %w", ErrTakenDown)
		}

		status, err := client.Status(ctx)
		if err == nil {
			last = status
			o.Progress(Progress{Elapsed: time.Since(started), Units: status.Units})
			switch status.Phase {
			case supervisor.PhaseReady:
				return nil
			case supervisor.PhaseFailed:
				stopErr := stopFailed(ctx, o.Paths, status.PID)
				return errors.Join(fmt.Errorf("%w: %s", ErrFailed, status.Error), stopErr)
			}
		} else if ctx.Err() == nil && (ended == nil || isClosed(ended)) && !locked(o.Paths) {
			return supervisorEnded(o.Paths)
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", notReady(last), ctx.Err())
		case <-time.After(proc.Pace(pollInterval, time.Since(started))):
		}
	}
}

// supervisorEnded says that a supervisor has ended by itself.
func supervisorEnded(paths layout.Paths) error {
	return fmt.Errorf("%w: the supervisor ended: see %s", ErrFailed, filepath.Join(paths.Logs(), "supervisor.log"))
}

// stopFailed stops the supervisor of that process id, unless another command has put another in its place.
func stopFailed(ctx context.Context, paths layout.Paths, pid int) error {
	ctx, held, err := hold.Take(ctx, paths.Run())
	if err != nil {
		return busy(err)
	}
	defer held.Release()
	status, err := supervisor.NewClient(paths.Socket()).Status(ctx)
	if err != nil || status.PID != pid {
		return nil // it has ended
	}
	return stopSupervisor(ctx, paths)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func notReady(s supervisor.Status) string {
	for _, u := range s.Units {
		if u.State == component.Starting {
			return u.ID.String()
		}
	}
	return "the supervisor"
}

// locked tells whether a supervisor holds the data folder's lock.
func locked(p layout.Paths) bool {
	f, err := os.OpenFile(p.Lock(), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// ErrEnded says that nothing keeps the cluster's parts running any more.
var ErrEnded = errors.New("the supervisor ended")

// awaitInterval is how often Await checks for the supervisor.
const awaitInterval = time.Second

// Await returns nil when ctx is over, or ErrEnded when the cluster's supervisor ends before that.
func Await(ctx context.Context, p layout.Paths) error {
	tick := time.NewTicker(awaitInterval)
	defer tick.Stop()
	for locked(p) {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return ErrEnded
}

// stopSupervisor asks the supervisor to stop its parts and waits until it is gone.
func stopSupervisor(ctx context.Context, p layout.Paths) error {
	if there, err := askToStop(ctx, p.Socket()); err != nil || !there {
		return err
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for locked(p) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the supervisor to stop: %w", ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// askToStop asks the supervisor that answers on a socket to stop. It returns false if nobody listens on the socket;
// with any other error it is unknown whether there is a supervisor, and it returns true.
func askToStop(ctx context.Context, socket string) (there bool, err error) {
	client := supervisor.NewClient(socket)
	err = client.Stop(ctx)
	if errors.Is(err, syscall.ECONNRESET) { // it ended just then: who asks again finds nobody
		err = client.Stop(ctx)
	}

	switch {
	case err == nil:
		return true, nil
	case isNobody(err):
		return false, nil
	}
	return true, fmt.Errorf("ask the supervisor at %q to stop: %w", socket, err)
}

// isNobody reports whether an error from dialling a Unix socket means that nobody listens there.
func isNobody(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}
