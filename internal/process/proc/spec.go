package proc

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/process/component"
)

// MarkerVariable is the environment variable that tells people whose a process of a cluster is; its value is the data
// folder. Anybody can set it: Mark is what counts.
const MarkerVariable = "MULLION_CLUSTER"

// Spec describes a child. ID and Path must be set; the other fields have the defaults named in their comments.
type Spec struct {
	// ID is the component's, as in component.Component.
	ID component.ID
	// Path of the program, and its arguments without the program's name.
	Path string
	Args []string
	// Env is the child's whole environment but for the marker, as NAME=value; nothing is inherited.
	Env []string
	// Marker, if set, is put into the environment as MarkerVariable.
	Marker string
	// Dir is the working folder, "/" by default.
	Dir string
	// LogPath is the file for both streams of the child's output; "" drops the output, except the tail for errors.
	LogPath string
	// LogSize is the size in bytes at which the log file is moved to LogPath+".1" (and that to ".2"); 16 MiB by
	// default.
	LogSize int64
	// Netns is the path of a pinned network namespace to start the child in; "" is the caller's own.
	Netns string
	// Cgroup is the name of the cgroup by whose weight the child runs (cgroup.Prefer); "" is the caller's. A
	// Starter may choose another.
	Cgroup string
	// Starter starts cmd in place of cmd.Start, which it must call in the end. It runs on an OS thread that serves only
	// this child and ends with it, so it may enter namespaces and stay in them. Netns has been entered before. It may
	// wrap the command (Path, Args, Env, SysProcAttr), but must keep cmd.SysProcAttr.Pdeathsig.
	Starter func(ctx context.Context, cmd *exec.Cmd) error
	// Ready returns nil when the child can be used. It is asked again and again, each time with a context of 5 s, until
	// ReadyTimeout is over; nil means that a child is ready once it is started. An error made with NoRestart ends the
	// child for good.
	Ready func(ctx context.Context) error
	// ReadyTimeout is how long the child may stand still before it is ready, 60 s by default, for the first start and
	// for each restart. Only time in which neither the child nor the machine was busy counts. A busy child is given up
	// after ten times as long; if Start's context has an end, the first start is given up only then.
	ReadyTimeout time.Duration
	// ReadyInterval is the time between the first calls of Ready, 50 ms by default; see Pace.
	ReadyInterval time.Duration
	// StopSignal asks the child to end, SIGTERM by default; SIGKILL follows after StopTimeout, 10 s by default.
	StopSignal  syscall.Signal
	StopTimeout time.Duration
	// Restart says what happens when the child dies unasked.
	Restart Restart
	// Notify, if set, gets every change of the state, one at a time. It must not call the Process and should return
	// soon.
	Notify func(State)
}

// Restart is a policy for children that die unasked: start again after Min, twice that after the next death and so on
// up to Max; a child that was ready for Reset begins at Min again.
type Restart struct {
	// Never leaves a dead child dead.
	Never bool
	// Min, Max and Reset are 200 ms, 15 s and 60 s by default.
	Min, Max, Reset time.Duration
}

// Defaults of Spec, where the fields are explained.
const (
	defaultLogSize       = 16 << 20
	defaultReadyTimeout  = 60 * time.Second
	defaultReadyInterval = 50 * time.Millisecond
	defaultStopTimeout   = 10 * time.Second
	defaultRestartMin    = 200 * time.Millisecond
	defaultRestartMax    = 15 * time.Second
	defaultRestartReset  = 60 * time.Second
	readyProbeTimeout    = 5 * time.Second
)

func (s Spec) withDefaults() Spec {
	if s.Dir == "" {
		s.Dir = "/"
	}
	if s.StopSignal == 0 {
		s.StopSignal = syscall.SIGTERM
	}
	if s.LogSize == 0 {
		s.LogSize = defaultLogSize
	}

	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{
		{&s.ReadyTimeout, defaultReadyTimeout},
		{&s.ReadyInterval, defaultReadyInterval},
		{&s.StopTimeout, defaultStopTimeout},
		{&s.Restart.Min, defaultRestartMin},
		{&s.Restart.Max, defaultRestartMax},
		{&s.Restart.Reset, defaultRestartReset},
	} {
		if *d.value == 0 {
			*d.value = d.def
		}
	}

	return s
}

// delay returns the back-off before the next start; deaths is the number of deaths in a row, including this one.
func (r Restart) delay(deaths int) time.Duration {
	d := r.Min
	for range deaths - 1 {
		d *= 2
		if d >= r.Max {
			return r.Max
		}
	}
	return d
}

// noRestartError says that starting the child again is of no use.
type noRestartError struct{ err error }

func (e noRestartError) Error() string { return e.err.Error() }
func (e noRestartError) Unwrap() error { return e.err }

// NoRestart marks err, as returned by a Spec's Starter or Ready, as one that a restart does not cure: the process fails
// for good. NoRestart(nil) is nil.
func NoRestart(err error) error {
	if err == nil {
		return nil
	}
	return noRestartError{err}
}

// IsNoRestart reports whether err, or an error it wraps, was made by NoRestart.
func IsNoRestart(err error) bool {
	var e noRestartError
	return errors.As(err, &e)
}

// Phase is a phase in the life of a process; see the diagram in the package comment.
type Phase string

// Phases of a process.
const (
	Idle       Phase = "idle"
	Starting   Phase = "starting"
	Running    Phase = "running"
	BackingOff Phase = "backing-off"
	Failed     Phase = "failed"
	Stopped    Phase = "stopped"
)

// State is what is known of a process at one moment.
type State struct {
	Phase Phase
	// PID is that of the living child, 0 if there is none.
	PID int
	// Restarts counts the starts after the first.
	Restarts int
	// Since is when the phase began.
	Since time.Time
	// Err is why the child died last, nil if it never did.
	Err error
}

// Mark tells a cluster's processes from all others by where they are, which only root can bring about.
type Mark struct {
	// Cgroups are those, in any hierarchy, of the cluster's processes; what is in cgroups below them is the
	// cluster's too.
	Cgroups []string
	// Pins is a folder in which the cluster's network namespaces are pinned.
	Pins string
	// Folder is the cluster's own, and Programs are names of programs: one of them that is root's, and works below the
	// folder or is told of something below it, is the cluster's, wherever it is. So those are found that a supervisor
	// of an earlier version has left, which put them into no cgroup.
	Folder   string
	Programs []string
}

// Leftover is a living process of a cluster.
type Leftover struct {
	PID  int
	PPID int
	// Args is the command line, program first.
	Args []string
	// Cgroups are the paths of its cgroups, one in each hierarchy.
	Cgroups []string
}
