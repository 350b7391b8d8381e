package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// nobody is the user who runs the tests when root asks. What a mutant does is not foreseen.
const nobody = 65534

// tests runs the tests of packages.
type tests struct {
	// dir is for what is built, home for what the tests write.
	dir, home string
	timeout   time.Duration
}

func newTests(timeout time.Duration) (*tests, error) {
	dir, err := os.MkdirTemp("", "mullion-mutants-")
	if err != nil {
		return nil, err
	}
	t := &tests{
		dir:     dir,
		home:    filepath.Join(dir, "home"),
		timeout: timeout,
	}

	err = errors.Join(os.Chmod(dir, 0o711), os.Mkdir(t.home, 0o700)) //nolint:gosec // nobody passes through it
	if err == nil && os.Geteuid() == 0 {
		err = os.Chown(t.home, nobody, nobody)
	}
	return t, err
}

func (t *tests) close() error { return os.RemoveAll(t.dir) }

// build compiles the tests of a package; a mutant has a flag for it.
func (t *tests) build(ctx context.Context, p pkg, flags ...string) (program string, err error) {
	program = filepath.Join(t.dir, "tests")
	args := append([]string{"test", "-c", "-vet=off", "-o", program}, flags...)
	out, err := exec.CommandContext(ctx, "go", append(args, p.ImportPath)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the tests of %s: %w: %s", p.ImportPath, err, out)
	}
	return program, nil
}

// run runs the tests of a package and reports whether one failed. One that hangs fails.
func (t *tests) run(ctx context.Context, p pkg, program string) (said string, failed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout+10*time.Second)
	defer cancel()

	cmd := exec.CommandContext(ctx, program, "-test.failfast", "-test.timeout="+t.timeout.String())
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), //nolint:forbidigo // a program of a main package
		"HOME="+t.home, "TMPDIR="+t.home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a mutant may leave what its tests started
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second

	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Start()
	if err != nil {
		return "", false, err
	}
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)

	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) || ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay) {
		return out.String(), err != nil, nil
	}
	return out.String(), false, err
}

// mutant runs the tests of a mutant's package and reports whether they notice it.
func (t *tests) mutant(ctx context.Context, m mutant) (said string, noticed bool, err error) {
	flag, err := m.changed(t.dir)
	if err != nil {
		return "", false, err
	}
	program, err := t.build(ctx, m.pkg, flag)
	if err != nil {
		return "", false, errors.Join(errNoMutant, err)
	}
	return t.run(ctx, m.pkg, program)
}

// passes reports whether the tests of a package pass as it stands.
func (t *tests) passes(ctx context.Context, p pkg) (bool, error) {
	program, err := t.build(ctx, p)
	if err != nil {
		return false, err
	}
	_, failed, err := t.run(ctx, p, program)
	return !failed, err
}
