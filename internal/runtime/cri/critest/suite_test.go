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
		return critest.Subject{
			Engine:    critest.NewEngine(critest.NewCalls(), t.TempDir()),
			Container: engine.Container{Args: []string{"forever"}},
		}
	})
}
