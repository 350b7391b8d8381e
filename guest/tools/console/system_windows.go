package console

import (
	"time"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/lineedit"
)

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// Key implements System. It returns a key that has a character.
func (local) Key(wait time.Duration) (rune, error) {
	input, err := lineedit.OpenInput(windows.Stdin)
	if err != nil {
		return 0, ErrNoConsole
	}

	end := time.Now().Add(wait)
	for {
		left := wait
		if wait >= 0 {
			left = max(0, time.Until(end))
		}
		key, ok, err := input.Within(left)
		if !ok || key.Rune != 0 || err != nil {
			return key.Rune, err
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
