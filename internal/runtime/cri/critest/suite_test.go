package critest_test

import (
	"testing"

	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
)

// TestFakeEngine runs the suite that test/cri runs on the real engine.
func TestFakeEngine(t *testing.T) {
	critest.EngineSuite(t, func(t *testing.T) critest.Subject {
		t.Helper()
		e := critest.NewEngine(critest.NewCalls(), t.TempDir())
		return critest.Subject{
			Engine:    e,
			Container: engine.Container{Args: []string{"forever"}},
			Processes: func(id string) int {
				if _, runs := e.Container(id); runs {
					return 1
				}
				return 0
			},
		}
	})
}
