// Package console owns the programs that deal with the console, wait for somebody at it or help there: chcp, choice,
// help and timeout.
package console

import (
	"errors"
	"time"

	"mullion.dev/mullion/guest/tools/program"
)

// ErrNoConsole says that a program's input is no console.
var ErrNoConsole = errors.New("not a console")

// System is the program's console. Where there is none the error is ErrNoConsole.
type System interface {
	// Key waits for a key. The key is 0 if none came in time; a negative wait has no end.
	Key(wait time.Duration) (key rune, err error)
	// CodePage is the console's code page for output, SetCodePage sets those for output and input.
	CodePage() (uint32, error)
	SetCodePage(page uint32) error
}

// Commander runs commands of cmd.exe.
type Commander interface {
	// Command runs a command, with the streams of the program, and returns its exit code.
	Command(e program.Env, line string) (int, error)
}

// Command implements Commander.
func (commander) Command(e program.Env, line string) (int, error) {
	return program.RunOfWine(e, "cmd.exe", []string{"/d", "/c", line})
}

// ThisCommander is the cmd.exe of the Windows that the program runs on.
func ThisCommander() Commander { return commander{} }

type commander struct{}
