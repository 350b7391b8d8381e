package cli

import (
	"testing"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/reader"
)

// machine is one with the whole command line.
type machine struct {
	*clitest.Machine

	calls calls
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Machine: clitest.New(t)}
	m.Root = func(r *reader.Reader) *cobra.Command { return rootOf(r, m.calls) }
	return m
}
