//go:build linux

package addon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/process/confined"
)

func TestValidate(t *testing.T) {
	whole := Place{
		Program: "/bin/server",
		RunDir:  "/run",
		LogDir:  "/log",
		Netns:   "/netns",
	}

	for missing, place := range map[string]Place{
		"Program": {RunDir: "/run", LogDir: "/log", Netns: "/netns"},
		"RunDir":  {Program: "/bin/server", LogDir: "/log", Netns: "/netns"},
		"LogDir":  {Program: "/bin/server", RunDir: "/run", Netns: "/netns"},
		"Netns":   {Program: "/bin/server", RunDir: "/run", LogDir: "/log"},
	} {
		err := place.Validate("server")
		if err == nil || !strings.Contains(err.Error(), "check server: "+missing+" is not set") {
			t.Errorf("without %s: got %v", missing, err)
		}
	}

	err := whole.Validate("server", Required{Name: "Dir"})
	if err == nil || !strings.Contains(err.Error(), "Dir is not set") {
		t.Errorf("without what the add-on requires: got %v", err)
	}
	if err := whole.Validate("server", Required{Name: "Dir", Value: "/data"}); err != nil {
		t.Errorf("with all: got %v", err)
	}
}

// A word to the API that is not heard is said again, until the start is over.
func TestTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := errors.New("the API server is busy")
		tries, heard := 0, 3
		s := New(Place{}, Program{
			Confined: confined.Program{Name: "server"},
			Tell: func(context.Context) error {
				if tries++; tries < heard {
					return busy
				}
				return nil
			},
		})

		if err := s.tell(t.Context()); err != nil || tries != heard {
			t.Errorf("got %v after %d tries, want nil after %d", err, tries, heard)
		}

		over, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		tries, heard = 0, 1<<30
		err := s.tell(over)
		if !errors.Is(err, busy) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want why it was not heard, and that the time is over", err)
		}
	})
}
