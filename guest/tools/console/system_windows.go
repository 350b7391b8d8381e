package console

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

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

const keyEvent = 1

// Key implements System.
func (local) Key(wait time.Duration) (rune, error) {
	input := windows.Stdin
	var mode uint32
	if windows.GetConsoleMode(input, &mode) != nil {
		return 0, ErrNoConsole
	}

	end := time.Now().Add(wait)
	for {
		ms := uint32(windows.INFINITE)
		if wait >= 0 {
			ms = uint32(max(0, time.Until(end).Milliseconds()))
		}
		got, err := windows.WaitForSingleObject(input, ms)
		if err != nil {
			return 0, err
		}

		if got != windows.WAIT_OBJECT_0 {
			return 0, nil
		}

		var record keyRecord
		var read uint32
		ok, _, err := kernel32("ReadConsoleInputW").Call(uintptr(input), uintptr(unsafe.Pointer(&record)), 1,
			uintptr(unsafe.Pointer(&read)))
		if ok == 0 {
			return 0, err
		}

		if read == 1 && record.kind == keyEvent && record.down != 0 && record.char != 0 {
			return rune(record.char), nil
		}
	}
}

// CodePage implements System.
func (local) CodePage() (uint32, error) {
	page, _, _ := kernel32("GetConsoleOutputCP").Call()
	if page == 0 {
		return 0, ErrNoConsole
	}
	return uint32(page), nil
}

// SetCodePage implements System.
func (l local) SetCodePage(page uint32) error {
	if ok, _, err := kernel32("IsValidCodePage").Call(uintptr(page)); ok == 0 {
		return err
	}
	if _, err := l.CodePage(); err != nil {
		return err
	}
	for _, name := range []string{"SetConsoleCP", "SetConsoleOutputCP"} {
		if ok, _, err := kernel32(name).Call(uintptr(page)); ok == 0 {
			return err
		}
	}
	return nil
}

func kernel32(name string) *windows.LazyProc {
	return windows.NewLazySystemDLL("kernel32.dll").NewProc(name)
}
