package single

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
)

// later is a program that is run in a container beside its own. It lives as long as its client.
type later struct {
	program
	container *container
	ask       Exec
	id        string
	// dir has the FIFOs of its streams; raw says that its one argument is a whole command line.
	dir     string
	raw     bool
	started chan struct{} // closed when Linux runs it
}

// newLater returns a program that is about to be run in a container.
func (k *container) newLater(ask Exec) *later {
	p := k.service.options.Paths
	l := &later{
		container: k,
		ask:       ask,
		id:        newID()[:16],
		dir:       p.streams(ask.Streams),
		started:   make(chan struct{}),
	}
	l.program = newProgram(filepath.Join(workDir(p, k.id), l.reportName()))
	return l
}

// exec runs a program in a container for a client, and returns when it has ended. cancel ends ctx.
func (s *service) exec(ctx context.Context, cancel func(), c *client, ask Exec) (err error) {
	if !ask.Detach {
		if err := checkStreams(ask.Streams); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(s.options.Paths.streams(ask.Streams))) }()
	}

	known, k, err := s.register.find(ask.Container)
	if err != nil {
		return err
	}
	if k == nil || !k.runs() {
		return refuse("container %s is not running", known.ID)
	}

	l := k.newLater(ask)
	var undo cleanup.Stack
	defer func() { err = errors.Join(err, undo.Clean()) }()

	s.background.Go(func() { s.listen(ctx, cancel, c, l) })
	c.say(Event{Begins: true})
	if err := l.start(ctx, &undo); err != nil {
		return err
	}

	close(l.started)
	//nolint:contextcheck // A program may outlive its client.
	s.background.Go(func() { l.hasEnded(k.engine.WaitExec(context.WithoutCancel(s.life), k.id, l.id)) })
	if ask.Terminal && ask.Columns > 0 {
		_ = l.resize(ctx, ask.Columns, ask.Rows) // it has a size, if another
	}
	if err := l.awaitStart(ctx); err != nil {
		return err
	}

	if ask.Detach {
		undo.Release()
		s.background.Go(l.outlive)
		c.say(Event{Started: k.id})
		return nil
	}

	c.say(Event{Started: k.id})
	select {
	case <-l.ended:
	case <-ctx.Done():
		return errClientGone
	}

	end, err := l.howEnded()
	if err != nil {
		return err
	}
	undo.Release()
	l.forget() //nolint:contextcheck // as above
	c.say(Event{Ended: &end})
	return nil
}

// start starts the program.
func (l *later) start(ctx context.Context, undo *cleanup.Stack) error {
	k := l.container
	inherited, uid, err := l.inherit()
	if err != nil {
		return err
	}
	undo.Add(func() error { return l.removeFiles() })
	if err := l.writeEnv(inherited.Env); err != nil {
		return err
	}

	launch := k.launch()
	if l.ask.Terminal {
		launch.Env = append(launch.Env, "TERM=xterm")
	}

	program := cri.Program{
		Report: path.Join(engine.WorkDirTarget, l.reportName()),
		Env:    path.Join(engine.WorkDirTarget, l.envName()),
		Dir:    inherited.Dir,
		Args:   inherited.Args,
		Raw:    l.raw,
	}
	if o := launch.Foresee(program); o.Failed {
		return notStarted(o)
	}

	err = k.engine.StartExec(ctx, k.id, engine.ExecSpec{
		ID:       l.id,
		UID:      uid,
		Dir:      cri.Drive,
		Env:      launch.Env,
		Args:     launch.Arguments(program),
		Terminal: l.ask.Terminal,
	}, l.stdio())
	if err == nil {
		undo.Add(func() error { return k.engine.EndExec(context.WithoutCancel(ctx), k.id, l.id) })
	}

	return err
}

// stdio returns the program's streams: none, if it has no client.
func (l *later) stdio() engine.IO {
	io := engine.IO{Terminal: l.ask.Terminal}
	if l.ask.Detach {
		return io
	}
	io.Stdout = filepath.Join(l.dir, "stdout")
	if l.ask.Stdin {
		io.Stdin = filepath.Join(l.dir, "stdin")
	}
	if !l.ask.Terminal {
		io.Stderr = filepath.Join(l.dir, "stderr")
	}
	return io
}

// outlive waits for the end of a program without a client: its own, or that of its container.
func (l *later) outlive() {
	select {
	case <-l.ended:
	case <-l.container.ended:
	}
	l.forget()
}

// inherit computes what the program gets of the container: as much as a container gets of its image.
func (l *later) inherit() (cri.Inherited, uint32, error) {
	config := &runtimeapi.ContainerConfig{
		Command:    l.ask.Args,
		WorkingDir: l.ask.Dir,
		Envs:       variables(l.ask.Env),
		Windows: &runtimeapi.WindowsContainerConfig{
			SecurityContext: &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: l.ask.User},
		},
	}

	var of image.Info
	of.Config.Env = l.container.inherited.Env
	of.Config.WorkingDir = l.container.inherited.Dir
	of.Config.User = l.container.inherited.User
	inherited, err := cri.Inherit(config, of, nil)
	if err != nil {
		return inherited, 0, refuse("no program is named")
	}

	uid, err := userID(inherited.User)
	if err != nil {
		return inherited, 0, err
	}

	if engine.UserName(uid) != l.container.user {
		return inherited, 0, &Refusal{
			Code: CodeCannotStart,
			Message: fmt.Sprintf("run a program as %s: all programs of this container are %s's, as under Wine a Windows has "+
				"one user", inherited.User, l.container.inherited.User),
			Remedy: "give the container that user: mullion run -u " + inherited.User,
		}
	}

	return inherited, uid, nil
}

// reportName and envName are files of the container's working folder, where its programs may put anything.
func (l *later) reportName() string { return "report-" + l.id }
func (l *later) envName() string    { return "env-" + l.id }

func (l *later) file(name string) string {
	return filepath.Join(workDir(l.container.service.options.Paths, l.container.id), name)
}

// writeEnv writes the environment: a new file, and not what the container has put in its place.
func (l *later) writeEnv(env []string) error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL | unix.O_NOFOLLOW
	f, err := os.OpenFile(l.file(l.envName()), flags, 0o644)
	if err != nil {
		return fmt.Errorf("write environment: %w", err)
	}
	_, err = f.Write(cri.EnvFile(env))
	return errors.Join(err, f.Close())
}

// removeFiles removes the files of the program; the container may have removed them, or be gone.
func (l *later) removeFiles() error {
	for _, name := range []string{l.reportName(), l.envName()} {
		if err := os.Remove(l.file(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			l.container.service.options.Log.Debug("file of a program not removed", "error", err)
		}
	}
	return nil
}

// forget forgets a program that has ended, in the background: what it has left running goes on, as on Windows, and its
// output is waited for a while.
func (l *later) forget() {
	k := l.container
	_ = l.removeFiles() // it says what it could not remove
	k.service.background.Go(func() {
		if err := k.engine.ForgetExec(context.WithoutCancel(k.service.life), k.id, l.id); err != nil {
			k.service.options.Log.Debug("program not forgotten", "container", k.name, "error", err)
		}
	})
}

func (l *later) unmade() bool { return false }

func (l *later) ready() <-chan struct{} { return l.started }

func (l *later) closeStdin(ctx context.Context) error {
	l.container.engine.CloseExecStdin(ctx, l.container.id, l.id)
	return nil
}

func (l *later) resize(ctx context.Context, columns, rows uint16) error {
	return l.container.engine.ResizeExec(ctx, l.container.id, l.id, columns, rows)
}

// signal kills the program: only the first program of a container can be told something.
func (l *later) signal(ctx context.Context, _ Signal) error {
	return l.container.engine.KillExec(ctx, l.container.id, l.id)
}
