package lineedit

import (
	"os"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Console is the console of this process.
type Console struct {
	in  *Input // nil: what is read is not typed
	out windows.Handle
	// interrupts returns whether Ctrl+C was pressed since it was asked last; nil: never.
	interrupts func() bool
}

// Open returns the console that shows what is written to out. ok is false if none does.
func Open(in, out *os.File) (c *Console, ok bool) {
	if out == nil {
		return nil, false
	}
	c = &Console{out: windows.Handle(out.Fd())}
	if in != nil {
		c.in, _ = OpenInput(windows.Handle(in.Fd())) // nothing is typed at what is no console
	}
	var mode uint32
	return c, windows.GetConsoleMode(c.out, &mode) == nil
}

// Typed reports whether what is read is typed at a console too: only then there are lines to edit.
func (c *Console) Typed() bool { return c.in != nil }

// ReadLine reads a line with an editor. While it does, the console gives keys and no lines; then it is as before, for
// the programs that the line starts. interrupts returns whether Ctrl+C was pressed since it was asked last; nil: never.
func (c *Console) ReadLine(e *Editor, prompt string, interrupts func() bool) (string, error) {
	c.interrupts = interrupts
	restore, err := c.in.Raw()
	if err != nil {
		return "", err
	}
	defer restore() //nolint:errcheck // a console that is gone has no mode

	e.Terminal = c
	return e.Read(prompt)
}

// Key waits for a key, for the editor.
func (c *Console) Key() (Key, error) { return c.in.Await(c.interrupts) }

// mostWritten is how many units of UTF-16 one call writes: consoles of old bound it.
const mostWritten = 8 << 10

// Write writes a text at the cursor.
func (c *Console) Write(text string) error {
	units := utf16.Encode([]rune(text))
	for len(units) > 0 {
		part := units[:min(len(units), mostWritten)]
		units = units[len(part):]
		var done uint32
		if err := windows.WriteConsole(c.out, &part[0], uint32(len(part)), &done, nil); err != nil {
			return err
		}
	}
	return nil
}

// Cursor returns where the cursor is, and how many columns the console's screen has.
func (c *Console) Cursor() (Place, int, error) {
	var info windows.ConsoleScreenBufferInfo
	err := windows.GetConsoleScreenBufferInfo(c.out, &info)
	at := Place{Column: int(info.CursorPosition.X), Row: int(info.CursorPosition.Y)}
	return at, int(info.Size.X), err
}

// Move moves the cursor. A cell that the console no longer has, because its window was made smaller meanwhile, is the
// nearest one that it has.
func (c *Console) Move(to Place) error {
	const tries = 3 // a window that a person drags has many sizes
	var err error
	for range tries {
		var info windows.ConsoleScreenBufferInfo
		if err := windows.GetConsoleScreenBufferInfo(c.out, &info); err != nil {
			return err
		}
		at := windows.Coord{
			X: min(int16(max(0, to.Column)), max(0, info.Size.X-1)), //nolint:gosec // consoles are smaller
			Y: min(int16(max(0, to.Row)), max(0, info.Size.Y-1)),    //nolint:gosec // likewise
		}
		if err = windows.SetConsoleCursorPosition(c.out, at); err == nil {
			return nil
		}
	}
	return err
}

// Window returns how many columns and rows the window of a console has, by a handle of its screen; 0 of what is none.
func Window(screen windows.Handle) (columns, rows int) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(screen, &info) != nil {
		return 0, 0
	}
	return int(info.Window.Right-info.Window.Left) + 1, int(info.Window.Bottom-info.Window.Top) + 1
}

// Columns returns how many columns the console's window has, 0 if that is not known.
func (c *Console) Columns() int {
	columns, _ := Window(c.out)
	return columns
}

// Rows returns how many rows the console's window has, 0 if that is not known.
func (c *Console) Rows() int {
	_, rows := Window(c.out)
	return rows
}

// The bits of the attributes of a cell (https://learn.microsoft.com/windows/console/console-screen-buffers).
const (
	foreground = 0x0F
	background = 0xF0
)

// Paint gives what is written from now on the colours of two names, of which an empty or unknown one stays.
func (c *Console) Paint(fore, back string) (undo func()) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(c.out, &info) != nil {
		return func() {}
	}
	paint := info.Attributes
	if n, known := colour(fore); known {
		paint = paint&^foreground | n
	}
	if n, known := colour(back); known {
		paint = paint&^background | n<<4
	}

	set := func(to uint16) { _ = call("SetConsoleTextAttribute", uintptr(c.out), uintptr(to)) } // it only looks worse
	set(paint)
	return func() { set(info.Attributes) }
}

// Clear empties the screen.
func (c *Console) Clear() error { return ClearScreen(c.out) }

// ClearScreen empties the screen of a console, with the cursor in its first cell.
func ClearScreen(out windows.Handle) error {
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(out, &info); err != nil {
		return err
	}

	var done uint32
	count := uintptr(uint16(info.Size.X)) * uintptr(uint16(info.Size.Y)) //nolint:gosec // sizes are not below zero
	for _, fill := range []struct {
		name string
		with uintptr
	}{{"FillConsoleOutputCharacterW", ' '}, {"FillConsoleOutputAttribute", uintptr(info.Attributes)}} {
		if err := call(fill.name, uintptr(out), fill.with, count, 0, uintptr(unsafe.Pointer(&done))); err != nil {
			return err
		}
	}

	return windows.SetConsoleCursorPosition(out, windows.Coord{})
}

// call calls a function of kernel32.dll that returns whether it succeeded.
func call(name string, args ...uintptr) error {
	ok, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc(name).Call(args...)
	if ok == 0 {
		return err
	}
	return nil
}
