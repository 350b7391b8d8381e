// Package console owns the programs that deal with the console or wait for somebody at it: chcp, choice and timeout.
package console

import (
	"errors"
	"time"
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
