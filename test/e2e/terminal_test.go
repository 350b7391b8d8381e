//go:build cluster

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// terminal FILE COMMAND…: runs a command on a terminal as a person would. Lines of the file that begin with ">" are
// typed ("^C" is Ctrl+C); all others are patterns that the screen has to show, each after the one before. After the
// last line the command has to end with success ("!": with a failure).
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] terminal FILE COMMAND...")
	}
	master, slave, err := openPTY()
	ts.Check(err)
	defer func() { _ = master.Close() }()

	cmd := command(ts, args[1:])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	ts.Check(slave.Close())
	s := &screen{}
	go s.read(master)

	for line := range strings.Lines(ts.ReadFile(args[0])) {
		line = strings.TrimSuffix(line, "\n")
		if typed, ok := strings.CutPrefix(line, ">"); ok {
			if typed == "^C" {
				typed = "\x03"
			} else {
				typed += "\r"
			}
			_, err := master.WriteString(typed)
			ts.Check(err)
			continue
		}

		want, err := regexp.Compile(line)
		ts.Check(err)
		if err := s.wait(want, settle); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			ts.Fatalf("%v", err)
		}
	}

	kill := time.AfterFunc(settle, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if err := cmd.Wait(); (err != nil) != neg {
		ts.Fatalf("%s: %v; the screen:\n%s", strings.Join(args[1:], " "), err, s.text())
	}
	ts.Logf("%s", s.text())
}

// openPTY opens a terminal of 120 columns and 40 lines.
func openPTY() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = master.Close()
		}
	}()

	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlock terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("number terminal: %w", err)
	}

	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		return nil, nil, fmt.Errorf("size terminal: %w", err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	return master, slave, err
}

// screen collects what a terminal shows; shown is how much of its plain text earlier patterns have used up.
type screen struct {
	mu    sync.Mutex
	data  []byte
	shown int
}

func (s *screen) read(from *os.File) {
	block := make([]byte, 4096)
	for {
		n, err := from.Read(block)
		s.mu.Lock()
		s.data = append(s.data, block[:n]...)
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.data)
}

// wait polls until the pattern is on the screen after what was matched before. A terminal's control sequences are no
// part of it: the console sends some between two letters that are typed.
func (s *screen) wait(want *regexp.Regexp, within time.Duration) error {
	escapes := regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\a]*\a`)
	for deadline := time.Now().Add(within); ; <-time.After(50 * time.Millisecond) {
		s.mu.Lock()
		plain := escapes.ReplaceAll(s.data, nil)
		at := want.FindIndex(plain[min(s.shown, len(plain)):])
		if at != nil {
			s.shown += at[1]
		}
		s.mu.Unlock()
		if at != nil {
			return nil
		}

		if time.Now().After(deadline) {
			return fmt.Errorf("the screen does not show %q after %s:\n%q", want, within, s.text())
		}
	}
}
