package text

import (
	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/lineedit"
)

// ThisScreen returns the console of the program's output.
func ThisScreen() Screen { return screen{} }

type screen struct{}

// Size implements Screen.
func (screen) Size() (columns, rows int, ok bool) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Stdout, &info) != nil {
		return 0, 0, false
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1, true
}

// Key implements Screen. Ctrl+C comes as a key.
func (screen) Key() (rune, error) {
	name, err := windows.UTF16PtrFromString("CONIN$")
	if err != nil {
		return 0, err
	}
	handle, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return 0, err
	}
	defer windows.CloseHandle(handle) //nolint:errcheck // it was only read

	input, err := lineedit.OpenInput(handle)
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
