package lineedit

import (
	"time"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Input is a console at which a person types. Its keys are read one by one: by an editor, and by programs that wait for
// a key.
type Input struct {
	handle windows.Handle

	high     uint16 // the first half of a character beyond 0xFFFF
	repeated int
	last     Key
}

// OpenInput returns the console that a handle reads from. The error is that of Windows if it reads from none.
func OpenInput(handle windows.Handle) (*Input, error) {
	var mode uint32
	if err := windows.GetConsoleMode(handle, &mode); err != nil {
		return nil, err
	}
	return &Input{handle: handle}, nil
}

// Raw has the console give keys and no lines, and Ctrl+C as a key, until restore is called.
func (i *Input) Raw() (restore func() error, err error) {
	var mode uint32
	if err := windows.GetConsoleMode(i.handle, &mode); err != nil {
		return nil, err
	}
	raw := mode &^ (windows.ENABLE_LINE_INPUT | windows.ENABLE_ECHO_INPUT | windows.ENABLE_PROCESSED_INPUT)
	if err := windows.SetConsoleMode(i.handle, raw); err != nil {
		return nil, err
	}
	return func() error { return windows.SetConsoleMode(i.handle, mode) }, nil
}

// lookEvery is how often it is asked whether Ctrl+C was pressed.
const lookEvery = 50 * time.Millisecond

// Await waits for a key of a raw console. Ctrl+C comes as a key, or is told in another way while the console's mode is
// being set: interrupts returns whether it was pressed since it was asked last; nil: never.
func (i *Input) Await(interrupts func() bool) (Key, error) {
	for {
		ready, err := i.ready(lookEvery)
		if err != nil {
			return Key{}, err
		}
		if interrupts != nil && interrupts() {
			return Key{Rune: ctrlC, Ctrl: true}, nil
		}
		if !ready {
			continue
		}

		if k, ok, err := i.read(); ok || err != nil {
			return k, err
		}
	}
}

// Within waits for a key, but no longer than wait, if that is not below zero. ok is false if no key was pressed.
func (i *Input) Within(wait time.Duration) (k Key, ok bool, err error) {
	end := time.Now().Add(wait)
	for {
		left := wait
		if wait >= 0 {
			left = max(0, time.Until(end))
		}
		if ready, err := i.ready(left); !ready || err != nil {
			return Key{}, false, err
		}

		if k, ok, err := i.read(); ok || err != nil {
			return k, ok, err
		}
	}
}

// ready waits until there is something to read, but no longer than wait, if that is not below zero.
func (i *Input) ready(wait time.Duration) (bool, error) {
	if i.repeated > 0 {
		return true, nil
	}
	ms := uint32(windows.INFINITE)
	if wait >= 0 {
		ms = uint32(min(wait.Milliseconds(), windows.INFINITE-1)) //nolint:gosec // it fits
	}
	got, err := windows.WaitForSingleObject(i.handle, ms)
	return got == windows.WAIT_OBJECT_0, err
}

// inputRecord is an INPUT_RECORD with a KEY_EVENT_RECORD in it
// (https://learn.microsoft.com/windows/console/input-record-str).
type inputRecord struct {
	kind              uint16
	_                 uint16
	down              int32
	repeat, key, scan uint16
	char              uint16
	state             uint32
}

// The parts of an input record that are looked at (https://learn.microsoft.com/windows/console/key-event-record-str).
const (
	keyEvent = 1
	altDown  = 0x1 | 0x2
	ctrlDown = 0x4 | 0x8
	shift    = 0x10
	altKey   = 0x12
)

// read reads what is ready. ok is false if it was no key that was pressed.
func (i *Input) read() (k Key, ok bool, err error) {
	if i.repeated > 0 {
		i.repeated--
		return i.last, true, nil
	}

	var r inputRecord
	var read uint32
	if err := call("ReadConsoleInputW", uintptr(i.handle), uintptr(unsafe.Pointer(&r)), 1,
		uintptr(unsafe.Pointer(&read))); err != nil {
		return Key{}, false, err
	}

	if read != 1 || r.kind != keyEvent {
		return Key{}, false, nil
	}
	if r.down == 0 && (r.key != altKey || r.char == 0) { // a character typed by its number comes with Alt's end
		return Key{}, false, nil
	}
	if utf16.IsSurrogate(rune(r.char)) && i.high == 0 {
		i.high = r.char
		return Key{}, false, nil
	}

	k = Key{
		Code:  Code(r.key),
		Rune:  rune(r.char),
		Ctrl:  r.state&ctrlDown != 0,
		Alt:   r.state&altDown != 0,
		Shift: r.state&shift != 0,
	}
	if i.high != 0 {
		k.Rune = utf16.DecodeRune(rune(i.high), k.Rune)
		i.high = 0
	}
	i.last, i.repeated = k, max(0, int(r.repeat)-1)
	return k, true, nil
}
