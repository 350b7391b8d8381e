package prog

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/windows/wire/localgroup"
)

// TestLocalGroupsLock: when a change of local groups is over, another program may make one, while the
// program of the first still runs.
func TestLocalGroupsLock(t *testing.T) {
	name, err := windows.UTF16PtrFromString(`Global\MullionLocalGroups`)
	if err != nil {
		t.Fatal(err)
	}
	other, err := windows.CreateMutex(nil, false, name)
	if err != nil && !errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		t.Fatal(err)
	}
	defer windows.CloseHandle(other) //nolint:errcheck // of a process that ends

	busy := make(chan struct{})
	defer close(busy)
	for range 8 {
		go func() {
			for {
				select {
				case <-busy:
					return
				case <-time.After(time.Microsecond):
				}
			}
		}()
	}

	err = localgroup.Alone(func() error {
		// As a file that is slow to read does, this moves the goroutine to another thread.
		first := windows.GetCurrentThreadId()
		for i := 0; i < 300 && windows.GetCurrentThreadId() == first; i++ {
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	free := make(chan uint32)
	go func() {
		runtime.LockOSThread() // a thread that has not had it, and that ends with this
		got, _ := windows.WaitForSingleObject(other, 0)
		free <- got
	}()
	if got := <-free; got != windows.WAIT_OBJECT_0 {
		t.Errorf("the groups are held: 0x%x", got)
	}
}
