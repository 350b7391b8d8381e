package cri_test

import (
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/cri/critest"
)

// TestHoldPod tells when nothing of a pod runs, and keeps the pod from starting while it is held.
func TestHoldPod(t *testing.T) {
	n := critest.NewNode(t)
	hold := func(want bool) func() {
		t.Helper()
		release, idle := n.Server.HoldPod("uid-web")
		if idle != want {
			t.Fatalf("idle: %v, want %v", idle, want)
		}
		return release
	}
	hold(true)() // no pod of that UID is known
	n.Calls.Before("Network.Setup", func(string) error {
		hold(false)
		return nil
	})

	first := n.RunPod(t, "web")
	hold(false)
	stop(t, n, first)
	release := hold(true)
	hold(false) // it is held
	started := make(chan struct{})
	go func() {
		defer close(started)
		n.RunPod(t, "web")
	}()

	select {
	case <-started:
		t.Error("a sandbox was started while the pod was held")
	case <-time.After(50 * time.Millisecond):
	}

	release()
	<-started
	hold(false)
	remove(t, n, first)
	hold(false) // the second sandbox runs
}
