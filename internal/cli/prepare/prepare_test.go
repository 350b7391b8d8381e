package prepare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/windows/wine"
)

func TestPrepare(t *testing.T) {
	broken := errors.New("wineboot ended")
	dir := t.TempDir()

	for _, c := range []struct {
		args []string
		euid int
		made bool
		err  error
		want string
		code int
	}{
		{args: []string{"--dir", dir}, euid: 1000, made: true, want: "made " + dir + "/file in 0.0s"},
		{args: []string{"--dir", dir}, euid: 1000, want: "it is there already: " + dir + "/file"},
		{euid: 0, want: "it is there already: " + wine.PackedDir + "/file"},
		{euid: 1000, want: "sudo mullion prepare", code: exit.Requirement},
		{args: []string{"--remove"}, euid: 1000, want: "sudo mullion prepare --remove", code: exit.Requirement},
		{args: []string{"--remove", "--dir", dir}, euid: 1000, want: "removed " + dir + "/file"},
		{err: fmt.Errorf("look: %w", wine.ErrNotFound), want: "mullion doctor", code: exit.Requirement},
		{args: []string{"--if-wine"}, err: wine.ErrNotFound, want: "nothing to prepare"},
		{args: []string{"--if-wine"}, err: broken, want: broken.Error(), code: exit.Internal},
		{args: []string{"--wine", dir}, want: "name another folder", code: exit.Usage},
		{args: []string{"now"}, want: "now", code: exit.Usage},
	} {
		var out bytes.Buffer
		call := &invoke.Call{Env: invoke.Env{
			Out:     &out,
			Program: "mullion",
			Euid:    c.euid,
			Args:    append([]string{"prepare"}, c.args...),
		}}

		cmd := New(call, Calls{
			Pack: func(_ context.Context, _ wine.Options, dir string) (string, bool, error) {
				return dir + "/file", c.made, c.err
			},
			Remove: func(dir string) ([]string, error) { return []string{dir + "/file"}, nil },
		})
		cmd.SetArgs(c.args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true

		err := cmd.ExecuteContext(t.Context())
		said := out.String()
		if err != nil {
			said += err.Error()
			if own, ok := errors.AsType[*exit.Error](err); ok {
				said += own.Remedy
			}
		}

		if !strings.Contains(said, c.want) || exit.Code(err) != c.code {
			t.Errorf("%q as %d: exit code %d, %q; want %d, %q", c.args, c.euid, exit.Code(err), said, c.code, c.want)
		}
	}
}
