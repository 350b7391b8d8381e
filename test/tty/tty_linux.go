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

	all  strings.Builder // what it has shown
	rest strings.Builder // of that, what nobody has waited for yet
}

// On returns the terminal whose master side Start has returned.
func On(master *os.File) *Terminal { return &Terminal{master: master} }

// Open starts cmd on a new pseudo terminal, as session leader in its foreground.
func Open(tb testing.TB, cmd *exec.Cmd, size unix.Winsize) *Terminal {
	tb.Helper()
	master, err := Start(cmd, size)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = master.Close() })
	return On(master)
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
	cmd.Stdin = slave
	cmd.Stdout = slave
	cmd.Stderr = slave
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

// Expect waits 20 seconds for a text, as Await does for a pattern.
func (term *Terminal) Expect(tb testing.TB, want string) {
	tb.Helper()
	if err := term.Await(regexp.MustCompile(regexp.QuoteMeta(want)), 20*time.Second); err != nil {
		tb.Fatal(err)
	}
}

// Await reads until what the terminal shows, without its control sequences, matches a pattern; then it forgets all up
// to there. A console sends control sequences also between two letters that are typed.
func (term *Terminal) Await(want *regexp.Regexp, within time.Duration) error {
	if err := term.master.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}

	escapes := regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\a]*\a`)
	for {
		shown := escapes.ReplaceAllString(term.rest.String(), "")
		if at := want.FindStringIndex(shown); at != nil {
			term.rest.Reset()
			term.rest.WriteString(shown[at[1]:])
			return nil
		}
		if err := term.read(); err != nil {
			return fmt.Errorf("wait for %q: %w; the terminal shows %q", want, err, shown)
		}
	}
}

// AwaitEnd reads until no program has the terminal any more.
func (term *Terminal) AwaitEnd(within time.Duration) error {
	if err := term.master.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	for {
		switch err := term.read(); {
		case errors.Is(err, syscall.EIO):
			return nil
		case err != nil:
			return fmt.Errorf("wait for the end of the program: %w", err)
		}
	}
}

// Shown returns all that the terminal has shown, control sequences included.
func (term *Terminal) Shown() string { return term.all.String() }

func (term *Terminal) read() error {
	buffer := make([]byte, 4096)
	n, err := term.master.Read(buffer)
	term.all.Write(buffer[:n])
	term.rest.Write(buffer[:n])
	return err
}

// Send types keys.
func (term *Terminal) Send(tb testing.TB, keys string) {
	tb.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		tb.Fatal(err)
	}
}
