package lineedit

import "errors"

// Code is a virtual key of Windows (https://learn.microsoft.com/en-us/windows/win32/inputdev/virtual-key-codes).
type Code uint16

// The keys that mean more than their character.
const (
	Backspace Code = 0x08
	Tab       Code = 0x09
	Enter     Code = 0x0D
	Escape    Code = 0x1B
	Space     Code = 0x20
	End       Code = 0x23
	Home      Code = 0x24
	Left      Code = 0x25
	Up        Code = 0x26
	Right     Code = 0x27
	Down      Code = 0x28
	Delete    Code = 0x2E
	F1        Code = 0x70
	F3        Code = 0x72
	F5        Code = 0x74
	F6        Code = 0x75
	F7        Code = 0x76
	F8        Code = 0x77
)

// Key is a key that was pressed.
type Key struct {
	Code Code
	// Rune is its character, 0 for a key without one. With Ctrl it is a control character.
	Rune             rune
	Ctrl, Alt, Shift bool
}

// ErrInterrupted is the error of a line that Ctrl+C gave up.
var ErrInterrupted = errors.New("Ctrl+C was pressed")

// ctrlC is the character of Ctrl+C.
const ctrlC = 0x03

// ctrlZ is the character of Ctrl+Z.
const ctrlZ = 0x1A

// ends reports whether a key is Ctrl+Z or F6.
func (k Key) ends() bool { return k.Rune == ctrlZ || k.named() == F6 || (k.control() && k.Code == 'Z') }

// Interrupts reports whether a key is Ctrl+C.
func (k Key) Interrupts() bool { return k.Rune == ctrlC || (k.control() && k.Code == 'C') }

// control reports whether a key is pressed with Ctrl: with Alt too it is AltGr, which makes characters.
func (k Key) control() bool { return k.Ctrl && !k.Alt }

// named returns the code of a key, by its character where a terminal tells no code.
func (k Key) named() Code {
	switch k.Rune {
	case '\r', '\n':
		return Enter
	case '\t':
		return Tab
	case '\b', 0x7F:
		return Backspace
	case 0x1B:
		return Escape
	}
	return k.Code
}

// lists reports whether a key asks for the completions: Ctrl+Space, which a terminal tells as Ctrl+2.
func (k Key) lists() bool {
	code := k.named()
	return k.Ctrl && (code == Space || (k.Rune == 0 && code == '2'))
}

// types reports whether a key is a character of the line.
func (k Key) types() bool { return k.Rune >= ' ' && k.Rune != 0x7F && !k.control() }
