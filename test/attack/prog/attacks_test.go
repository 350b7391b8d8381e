package main

import (
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
)

// TestOfProc tells a file of /proc from the null device that hides one.
func TestOfProc(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	for path, want := range map[string]int{"/proc/self/comm": 0, "/dev/null": enoent} {
		if got := with(path, oWRONLY, ofProc); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}
