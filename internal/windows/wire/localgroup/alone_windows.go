package localgroup

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/windows"
)

// Alone runs f while it keeps other programs of this Windows from changing the groups. A mutex of Windows is its
// thread's: another one cannot release it, and it would be held for as long as the thread lives
// (https://learn.microsoft.com/windows/win32/api/synchapi/nf-synchapi-releasemutex).
func Alone(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	name, err := windows.UTF16PtrFromString(`Global\MullionLocalGroups`)
	if err != nil {
		return err
	}
	mutex, err := windows.CreateMutex(nil, false, name)
	if err != nil && !errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		return fmt.Errorf("lock local groups: %w", err)
	}
	defer windows.CloseHandle(mutex) //nolint:errcheck // it goes with the process at the latest
	if _, err := windows.WaitForSingleObject(mutex, windows.INFINITE); err != nil {
		return fmt.Errorf("lock local groups: %w", err)
	}

	defer windows.ReleaseMutex(mutex) //nolint:errcheck // as above
	return f()
}
