package forfiles

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"mullion.dev/mullion/guest/tools/program"
)

// ThisSystem is the system of this process.
func ThisSystem() System { return system{} }

type system struct{}

// Run starts the first word of the line, and gives it the whole line.
func (system) Run(e program.Env, line, folder string) error {
	word := firstWord(line)
	path, err := exec.LookPath(word)
	if errors.Is(err, exec.ErrDot) { // as CreateProcess finds it
		err = nil
	}
	if err != nil {
		return errMissing
	}

	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: line}
	cmd.Dir, cmd.Env = folder, os.Environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, e.Stdout, e.Stderr
	if err := cmd.Run(); err != nil {
		if _, ended := errors.AsType[*exec.ExitError](err); !ended {
			return err
		}
	}
	return nil
}

// firstWord returns the program of a command line.
func firstWord(line string) string {
	line = strings.TrimLeft(line, " \t")
	if rest, quoted := strings.CutPrefix(line, `"`); quoted {
		word, _, _ := strings.Cut(rest, `"`)
		return word
	}
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return line[:i]
	}
	return line
}

func (system) Now() time.Time { return time.Now() }
