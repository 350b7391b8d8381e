package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/reader"
)

func newMachine(t *testing.T) *clitest.Machine {
	t.Helper()
	m := clitest.New(t)
	m.Commands = func(r *reader.Reader) []*cobra.Command {
		return []*cobra.Command{New(r.Env, func() (string, error) { return m.Paths.Kubernetes("").Kubectl(), nil })}
	}
	return m
}

// TestKubectlOfCheck asks a cluster by the bundle's kubectl, with the user's own configuration.
func TestKubectlOfCheck(t *testing.T) {
	m := newMachine(t)
	asked := filepath.Join(filepath.Dir(m.Paths.Data), "asked")
	m.Write(m.Paths.Kubernetes("").Kubectl(), "#!/bin/sh\necho \"$1\" >> '"+asked+"'\necho '{\"items\": []}'\n")
	got := m.Run("check", "--cluster", "--offline")
	text, err := os.ReadFile(asked)
	if err != nil {
		t.Fatalf("%v: %s", err, got.Err)
	}

	for line := range strings.Lines(string(text)) {
		if line != "get\n" {
			t.Errorf("asked by %q", line)
		}
	}
}
