package netns_test

import (
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	_ "mullion.dev/mullion/internal/base/netns"
)

// TestMainThreadIsKept: no goroutine but the main one ever runs on the main thread, whose namespace is the process's.
func TestMainThreadIsKept(t *testing.T) {
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if unix.Gettid() == unix.Getpid() {
				t.Error("a goroutine has the main thread")
			}
		})
	}
	all.Wait()
}
