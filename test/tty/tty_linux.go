// Package tty runs programs on terminals, as a person does, for tests and for what is recorded of a terminal.
package tty

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is the master side of a pseudo terminal on which a program runs.
type Terminal struct {
	master *os.File
	seen   strings.Builder
}

// Open starts cmd on a new pseudo terminal, as session leader in its foreground.
func Open(tb testing.TB, cmd *exec.Cmd, size unix.Winsize) *Terminal {
	tb.Helper()
	master, err := Start(cmd, size)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = master.Close() })
	return &Terminal{master: master}
}

// Start does the same, and returns the master side of the terminal. Reading it fails with EIO when no program has the
// terminal any more.
func Start(cmd *exec.Cmd, size unix.Winsize) (*os.File, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if err := start(cmd, master, size); err != nil {
		return nil, errors.Join(err, master.Close())
	}
	return master, nil
}

func start(cmd *exec.Cmd, master *os.File, size unix.Winsize) error {
	conn, err := master.SyscallConn()
	if err != nil {
		return err
	}

	var number int
	var failed error
	err = conn.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
		if failed == nil {
			failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &size)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}

	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer slave.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}

	return cmd.Start()
}

// Resize changes the size of the terminal, as a person does who drags the corner of a window.
func (term *Terminal) Resize(tb testing.TB, columns, rows uint16) {
	tb.Helper()
	conn, err := term.master.SyscallConn()
	if err != nil {
		tb.Fatal(err)
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
	if err != nil || failed != nil {
		tb.Fatal(err, failed)
	}
}

// Expect reads until what the terminal shows, without its control sequences, contains want; then it forgets all up to
// there.
func (term *Terminal) Expect(tb testing.TB, want string) {
	tb.Helper()
	if err := term.master.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		tb.Fatal(err)
	}

	escapes := regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\a]*\a`)
	buffer := make([]byte, 4096)
	for {
		shown := escapes.ReplaceAllString(term.seen.String(), "")
		if _, rest, ok := strings.Cut(shown, want); ok {
			term.seen.Reset()
			term.seen.WriteString(rest)
			return
		}

		n, err := term.master.Read(buffer)
		if err != nil {
			tb.Fatalf("waiting for %q: %v; the terminal shows %q", want, err, shown)
		}
		term.seen.Write(buffer[:n])
	}
}

// Send types keys.
func (term *Terminal) Send(tb testing.TB, keys string) {
	tb.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		tb.Fatal(err)
	}
}
