//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/testrun"
)

// asProgram has the test's program be the program itself.
const asProgram = "TEST_AS_KUBECTL_MULLION"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// hostPID is a manifest with a finding.
const hostPID = `apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {os: {name: windows}, hostPID: true}
`

// start starts the program. It is ended at the end of the test at the latest.
func start(t *testing.T, stdin, stdout *os.File, args ...string) (program *exec.Cmd, ended <-chan int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	t.Cleanup(cancel)
	program = exec.CommandContext(ctx, os.Args[0], args...)
	program.Env = append(os.Environ(), asProgram+"=1")
	program.Stdin, program.Stdout = stdin, stdout
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}

	codes := make(chan int, 1)
	go func() {
		_ = program.Wait() // the code says how it ended
		codes <- program.ProcessState.ExitCode()
	}()
	t.Cleanup(cancel)

	return program, codes
}

// pipe returns a pipe of this process that others cannot hold open.
func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	if _, err := unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil {
		t.Fatal(err)
	}
	return read, write
}

// fill waits until the pipe is full: who writes to it waits.
func fill(t *testing.T, unread *os.File) {
	t.Helper()
	size, err := unix.FcntlInt(unread.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}

	for deadline := time.Now().Add(time.Minute); ; {
		held, err := unix.IoctlGetInt(int(unread.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		if held == size {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("the pipe has %d bytes of %d: the program prints too little", held, size)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// TestSignalWhileReading: a check that waits for its input ends at once.
func TestSignalWhileReading(t *testing.T) {
	testrun.Once(t, testrun.Race)
	silent, say := pipe(t)
	printed, out := pipe(t)
	program, ended := start(t, silent, out, "check", "--offline", "-o", "json", "-")
	if _, err := say.WriteString(hostPID + "---\n"); err != nil {
		t.Fatal(err)
	}

	if _, err := printed.Read(make([]byte, 1)); err != nil { // it has judged that, and waits for more
		t.Fatal(err)
	}

	began := time.Now()
	if err := program.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code <= 0 {
		t.Errorf("it ended with %d", code)
	}

	if took := time.Since(began); took >= interrupt.Grace {
		t.Errorf("it took %s to end", took)
	}
}

// TestSignalsWhileStuck: a program that waits in the kernel, here for somebody to read what it prints, looks at no
// context. It ends all the same.
func TestSignalsWhileStuck(t *testing.T) {
	testrun.Once(t, testrun.Race)
	for name, signals := range map[string][]os.Signal{
		"once":  {syscall.SIGTERM},
		"twice": {os.Interrupt, os.Interrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unread, out := pipe(t)
			program, ended := start(t, nil, out, "check", "policy")
			fill(t, unread)

			began := time.Now()
			var last os.Signal
			for _, last = range signals {
				if err := program.Process.Signal(last); err != nil {
					t.Fatal(err)
				}
				<-time.After(50 * time.Millisecond) // signals that come together are one
			}

			if code := <-ended; code != interrupt.Code(last) {
				t.Errorf("it ended with %d, want %d", code, interrupt.Code(last))
			}
			if took := time.Since(began); (len(signals) == 1) != (took >= interrupt.Grace) {
				t.Errorf("it took %s to end", took)
			}
		})
	}
}
