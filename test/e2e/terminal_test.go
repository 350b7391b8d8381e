//go:build cluster

package e2e

import (
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/test/tty"
)

// terminal FILE COMMAND…: runs a command on a terminal as a person would. Lines of the file that begin with ">" are
// typed ("^C" is Ctrl+C); all others are patterns that the screen has to show, each after the one before. After the
// last line the command has to end with success ("!": with a failure).
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] terminal FILE COMMAND...")
	}
	lines := ts.ReadFile(args[0])
	cmd := command(ts, args[1:])
	master, err := tty.Start(cmd, unix.Winsize{Row: 40, Col: 120})
	ts.Check(err)
	defer func() { _ = master.Close() }()

	screen := tty.On(master)
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		if typed, ok := strings.CutPrefix(line, ">"); ok {
			_, err := master.WriteString(keys(typed))
			ts.Check(err)
			continue
		}

		want, err := regexp.Compile(line)
		ts.Check(err)
		if err := screen.Await(want, settle); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			ts.Fatalf("%v", err)
		}
	}

	kill := time.AfterFunc(settle, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	ended := screen.AwaitEnd(settle)
	if err := cmd.Wait(); (err != nil) != neg || ended != nil {
		ts.Fatalf("%s: %v, %v; the screen:\n%s", strings.Join(args[1:], " "), err, ended, screen.Shown())
	}
	ts.Logf("%s", screen.Shown())
}

// keys returns the keys of a line that is typed.
func keys(line string) string {
	if line == "^C" {
		return "\x03"
	}
	return line + "\r"
}
