package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// builder runs steps.
type builder struct {
	root, bin string
	// version is Mullion's, for its programs; goVersion is that of the compiler, which is part of what a stamp says.
	version, goVersion string
	// environ is that of the commands; flags are those with which everything is compiled (GOFLAGS).
	environ []string
	flags   string
	// compiling are further variables of go commands that compile and link.
	compiling []string
	force     bool
	jobs      int

	screen *screen
	record *record
	lock   *os.File
}

// newBuilder prepares bin, and waits until no other build uses it. Several steps write there at once, and a program
// that is there is put in its place by a rename, so that nobody sees half of it.
func newBuilder(root string, environ []string, out io.Writer) (*builder, error) {
	bin := filepath.Join(root, "bin")
	b := &builder{
		root: root, bin: bin, version: cmp.Or(variable(environ, "MULLION_VERSION"), "v0.1.0-dev"), goVersion: runtime.Version(),
		environ: environ, flags: variable(environ, "GOFLAGS"), jobs: runtime.NumCPU(), screen: newScreen(out),
		compiling: withoutCollecting(environ, freeMemory("/"), runtime.NumCPU()),
	}
	if err := os.MkdirAll(b.temporary(), 0o755); err != nil {
		return nil, err
	}

	lock, err := os.OpenFile(filepath.Join(bin, ".build.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}

	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		b.screen.print("waiting for another build of this checkout to end")
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
			return nil, errors.Join(fmt.Errorf("wait for another build: %w", err), lock.Close())
		}
	}
	b.lock = lock

	// Only a build that was killed leaves something here.
	if err := emptyFolder(b.temporary()); err != nil {
		return nil, err
	}
	b.record = readRecord(filepath.Join(bin, ".build.json"))
	return b, nil
}

func (b *builder) close() { b.lock.Close() }

// temporary returns where the go command links, on the file system of bin: so it renames a program, and does not copy
// it.
func (b *builder) temporary() string { return filepath.Join(b.bin, ".tmp") }

// build makes the steps that are not up to date, those of different systems side by side, and ends at the first that
// does not succeed.
func (b *builder) build(ctx context.Context, steps []step, lanes int) error {
	var todo []step
	for _, s := range steps {
		if b.force || !b.upToDate(s) {
			todo = append(todo, s)
		}
	}

	b.announce(len(steps), todo)
	if len(todo) == 0 {
		return nil
	}

	start := time.Now()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := map[string]chan struct{}{}
	for _, s := range todo {
		done[s.name] = make(chan struct{})
	}

	slots := make(chan struct{}, max(lanes, 1))
	var wait sync.WaitGroup
	for _, lane := range lanesIn(todo) {
		wait.Go(func() {
			for _, s := range lane {
				if err := b.after(ctx, s, done, slots); err != nil {
					stop(err)
					return
				}
			}
		})
	}

	drawn := make(chan struct{})
	go func() { defer close(drawn); b.screen.draw(ctx) }()
	wait.Wait()
	err := context.Cause(ctx)
	stop(errDone)
	<-drawn
	if err == nil {
		b.summary(todo, time.Since(start))
	}

	return err
}

// summary says what a build took that a person has waited for.
func (b *builder) summary(steps []step, took time.Duration) {
	if took < 10*time.Second {
		return
	}
	processor := 0.0
	for _, s := range steps {
		processor += b.record.made(s.name).Processor
	}
	b.screen.print(fmt.Sprintf("built in %s, with %s of processor time", seconds(took),
		seconds(time.Duration(processor*float64(time.Second)))))
}

var errDone = errors.New("done")

// lanesIn returns the steps by system, in the order of the first of each.
func lanesIn(steps []step) [][]step {
	var order []string
	by := map[string][]step{}
	for _, s := range steps {
		if by[s.system] == nil {
			order = append(order, s.system)
		}
		by[s.system] = append(by[s.system], s)
	}

	var lanes [][]step
	for _, system := range order {
		lanes = append(lanes, by[system])
	}

	return lanes
}

// after makes a step when those that it needs are made, and a slot is free.
func (b *builder) after(ctx context.Context, s step, done map[string]chan struct{}, slots chan struct{}) error {
	for _, need := range s.needs {
		made, pending := done[need]
		if !pending {
			continue
		}
		select {
		case <-made:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}

	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}

	defer func() { <-slots }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	if err := b.make(ctx, s); err != nil {
		return err
	}
	close(done[s.name])
	return nil
}

// make runs a step, and keeps what it took.
func (b *builder) make(ctx context.Context, s step) error {
	stamp, err := b.stamp(s)
	if err != nil {
		return err
	}
	run := b.screen.begin(s, b.record.made(s.name), b.record.cold[s.name])
	command, err := b.command(s)
	if err != nil {
		return err
	}

	took, err := b.execute(ctx, command, run)
	if err == nil {
		err = b.link(s)
	}
	if err != nil {
		if ctx.Err() != nil { // ended from outside, or since another step did not succeed
			b.screen.drop(run)
			return context.Cause(ctx)
		}
		b.screen.fail(run, took)
		return fmt.Errorf("%s: %w%s", s.name, err, remedy(run.text()))
	}

	b.screen.end(run, took)
	return b.record.keep(s.name, made{
		Stamp:     stamp,
		Packages:  run.packages(),
		Seconds:   took.wall.Seconds(),
		Processor: took.processor.Seconds(),
	})
}

// times is what a step took.
type times struct{ wall, processor time.Duration }

// execute runs a command in a process group of its own. When ctx ends it is interrupted, as by Ctrl-C: so the go
// command removes what it has begun.
func (b *builder) execute(ctx context.Context, command *exec.Cmd, run *running) (times, error) {
	start := time.Now()
	out := &lines{to: run.line}
	command.Stdout, command.Stderr = out, out
	command.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGTERM}
	command.WaitDelay = 3 * time.Second // for what it left running, which still has its output
	if err := command.Start(); err != nil {
		return times{}, err
	}

	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()

	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		// Errors: the group has ended by itself.
		_ = unix.Kill(-command.Process.Pid, unix.SIGINT)
		select {
		case err = <-ended:
		case <-time.After(10 * time.Second):
			_ = unix.Kill(-command.Process.Pid, unix.SIGKILL)
			err = <-ended
		}

		// What has not listened to the interruption goes too.
		_ = unix.Kill(-command.Process.Pid, unix.SIGKILL)
		err = errors.Join(ctx.Err(), err)
	}

	out.flush()
	took := times{wall: time.Since(start)}
	if state := command.ProcessState; state != nil {
		took.processor = state.UserTime() + state.SystemTime()
	}

	return took, err
}

// command returns what makes a step.
func (b *builder) command(s step) (*exec.Cmd, error) {
	if s.run != nil {
		args := make([]string, len(s.run))
		for i, a := range s.run {
			args[i] = strings.NewReplacer("{bin}", b.bin, "{jobs}", strconv.Itoa(b.jobs)).Replace(a)
		}
		c := exec.Command(args[0], args[1:]...) //nolint:noctx // ended by execute, gently
		c.Dir, c.Env = b.root, b.environ
		return c, nil
	}

	ldflags, err := b.expand(s)
	if err != nil {
		return nil, err
	}
	args := []string{"build", "-v"}
	if s.test {
		args = []string{"test", "-c", "-v", "-vet=off"}
	}

	if s.modfile != "" {
		args = append(args, "-modfile="+s.modfile)
	}
	args = append(args, s.flags...)
	if ldflags != "" {
		args = append(args, "-ldflags="+ldflags)
	}
	args = append(args, "-o", filepath.Join(b.bin, s.to)+trailing(s.to))
	args = append(args, s.packages...)

	c := exec.Command("go", args...) //nolint:noctx // ended by execute, gently
	c.Dir = filepath.Join(b.root, s.module)
	c.Env = slices.Concat(b.environ, b.compiling, []string{"GOOS=" + s.system, "CGO_ENABLED=" + cgo(s), "GOTMPDIR=" + b.temporary()})
	to := filepath.Join(b.bin, s.to)
	if trailing(s.to) == "" {
		to = filepath.Dir(to)
	}

	return c, os.MkdirAll(to, 0o755)
}

// cgo returns the value of CGO_ENABLED for a step.
func cgo(s step) string {
	if s.cgo {
		return "1"
	}
	return "0"
}

// trailing returns the slash that filepath.Join takes from the name of a folder.
func trailing(to string) string {
	if strings.HasSuffix(to, "/") {
		return "/"
	}
	return ""
}

// variable returns the value of a variable of an environment, "" if it has none.
func variable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// expand puts versions into the flags of the linker.
func (b *builder) expand(s step) (string, error) {
	var problem error
	text := versionName.ReplaceAllStringFunc(s.ldflags, func(name string) string {
		name = strings.Trim(name, "{}")
		if name == "version" {
			return b.version
		}
		module, bare := strings.CutSuffix(name, " bare")
		version, err := versionIn(filepath.Join(b.root, s.module, cmp.Or(s.modfile, "go.mod")), module)
		if err != nil {
			problem = err
		}

		if bare {
			return strings.TrimPrefix(version, "v")
		}

		return version
	})

	return text, problem
}

// link makes the further names of a step's programs.
func (b *builder) link(s step) error {
	for name, to := range s.links {
		file := filepath.Join(b.bin, name)
		if got, err := os.Readlink(file); err == nil && got == to {
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}

		if err := os.Symlink(to, file); err != nil {
			return err
		}
	}

	return nil
}

func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
