package events

import (
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

// TestStopAfterFailure: what ended by an error is not ended once more by a handle that is another one's by then.
func TestStopAfterFailure(t *testing.T) {
	ended, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	woken, err := windows.CreateEvent(nil, 1, 1, nil) // though the folder is none, which is an error
	if err != nil {
		t.Fatal(err)
	}
	w := &watching{handle: windows.InvalidHandle, ended: ended}
	w.overlapped.HEvent = woken

	failed := make(chan error, 8)
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.read(func([]change) {}, func(err error, _ bool) { failed <- err })
	}()
	select {
	case <-over:
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
	if len(failed) == 0 {
		t.Fatal("it says no error")
	}

	var others []windows.Handle
	for range 64 {
		other, err := windows.CreateEvent(nil, 1, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, other)
	}
	w.stop()
	for _, other := range others {
		if got, _ := windows.WaitForSingleObject(other, 0); got == windows.WAIT_OBJECT_0 {
			t.Errorf("it has set the event %d of another one", other)
		}
		_ = windows.CloseHandle(other)
	}
}
