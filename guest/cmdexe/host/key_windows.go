package host

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/cmdexe/shell"
)

// keyRecord is an INPUT_RECORD with a KEY_EVENT_RECORD in it
// (https://learn.microsoft.com/windows/console/input-record-str).
type keyRecord struct {
	kind              uint16
	_                 uint16
	down              int32
	repeat, key, scan uint16
	char              uint16
	state             uint32
}

const (
	keyEvent = 1
	ctrlC    = 3
	// lookEvery is how often it is asked whether Ctrl+C was pressed, in milliseconds.
	lookEvery = 50
)

// key waits for a key of the console. Ctrl+C comes as a key, or is told in another way while the console's mode is
// being set.
func (h Host) key(in *os.File) error {
	if in == nil {
		return errors.ErrUnsupported
	}

	console := windows.Handle(in.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return err
	}
	raw := mode &^ (windows.ENABLE_LINE_INPUT | windows.ENABLE_ECHO_INPUT | windows.ENABLE_PROCESSED_INPUT)
	if err := windows.SetConsoleMode(console, raw); err != nil {
		return err
	}

	return errors.Join(h.await(console), windows.SetConsoleMode(console, mode))
}

func (h Host) await(console windows.Handle) error {
	for {
		got, err := windows.WaitForSingleObject(console, lookEvery)
		if err != nil {
			return err
		}
		if h.Interrupts != nil && h.Interrupts() {
			return shell.ErrInterrupted
		}

		if got != windows.WAIT_OBJECT_0 {
			continue
		}

		var record keyRecord
		var read uint32
		if err := call("ReadConsoleInputW", uintptr(console), uintptr(unsafe.Pointer(&record)), 1,
			uintptr(unsafe.Pointer(&read))); err != nil {
			return err
		}

		switch {
		case read != 1 || record.kind != keyEvent || record.down == 0 || record.char == 0:
		case record.char == ctrlC:
			return shell.ErrInterrupted
		default:
			return nil
		}
	}
}
