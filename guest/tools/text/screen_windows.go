package text

import (
	"os"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/lineedit"
)

// ThisScreen returns the console of the program's output.
func ThisScreen() Screen { return screen{} }

type screen struct{}

// Size implements Screen.
func (screen) Size() (columns, rows int) { return lineedit.Window(windows.Stdout) }

// Key implements Screen. Ctrl+C comes as a key.
func (screen) Key() (rune, error) {
	console, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer console.Close()

	input, err := lineedit.OpenInput(windows.Handle(console.Fd()))
	if err != nil {
		return 0, err
	}
	restore, err := input.Raw()
	if err != nil {
		return 0, err
	}
	defer restore() //nolint:errcheck // the next program sets its own

	for {
		key, err := input.Await(nil)
		if key.Rune != 0 || err != nil {
			return key.Rune, err
		}
	}
}
