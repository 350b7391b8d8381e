package cri

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/admission"
)

// TestShortProgramCameUp: a program that ends before anybody looks at its report, which goes with it, has come up: the
// queue learns how long it took.
func TestShortProgramCameUp(t *testing.T) {
	for report, want := range map[string]bool{"started 5\nexited 0\n": true, "failed 2 no such file\n": true, "": false} {
		s := &Server{queue: admission.New(2)}
		place, err := s.queue.Enter(t.Context(), admission.Ask{Kind: admission.Probe})
		if err != nil {
			t.Fatal(err)
		}

		file := filepath.Join(t.TempDir(), "report")
		over := s.leaveWhenStarted(place, file)
		<-time.After(lookForStart / 10)
		if err := os.WriteFile(file, []byte(report), 0o600); err != nil {
			t.Fatal(err)
		}

		over(0)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		<-place.Left()
		if learned := s.queue.Load().Typical > 0; learned != want {
			t.Errorf("report %q: the queue has learned: %v, want %v", report, learned, want)
		}
	}
}
