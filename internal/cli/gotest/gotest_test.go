package gotest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
)

// goScript is a program in go's place: it says its flags, what it is asked for, and ends as FAIL says.
const goScript = `#!/bin/sh
if [ "$*" = "env GOFLAGS" ]; then echo "$GOFLAGS"; exit; fi
echo "$GOOS $GOARCH $CGO_ENABLED"
for a; do echo "$a"; done
cat
exit ${FAIL:-0}
`

// run runs the command with go in PATH, unless there is none.
func run(t *testing.T, euid int, env []string, args ...string) (out string, err error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(goScript), 0o755); err != nil {
		t.Fatal(err)
	}

	var printed bytes.Buffer
	call := &invoke.Call{DataDir: invoke.DefaultDataDir, Env: invoke.Env{
		In:         strings.NewReader("input"),
		Out:        &printed,
		Err:        &printed,
		Program:    "mullion",
		Executable: "/opt/my mullion/mullion",
		Euid:       euid,
		Environ:    append([]string{"PATH=" + dir + ":/usr/bin:/bin"}, env...),
	}}

	root := &cobra.Command{
		Use:              "mullion",
		SilenceErrors:    true,
		SilenceUsage:     true,
		TraverseChildren: true,
	}
	root.PersistentFlags().StringVar(&call.DataDir, "data-dir", call.DataDir, "")
	root.AddCommand(New(call))
	root.SetOut(&printed)
	root.SetArgs(args)
	err = root.ExecuteContext(context.WithoutCancel(t.Context()))

	return printed.String(), err
}

func TestRun(t *testing.T) {
	out, err := run(t, 0, []string{"GOFLAGS=-trimpath -race=false", "GOOS=linux"},
		"--data-dir", "/x", "test", "--windows-version", "ltsc2022", "-v", "./...", "-args", "-race")
	if err != nil {
		t.Fatal(err)
	}
	const want = "windows amd64 0\ntest\n" +
		"-exec='/opt/my mullion/mullion' --data-dir /x run --go-test --windows-version=ltsc2022 --\n" +
		"-v\n./...\n-args\n-race\ninput"

	if out != want {
		t.Errorf("go is called so:\n%s\nwant:\n%s", out, want)
	}
	if _, err := run(t, 0, []string{"FAIL=7"}, "test"); exit.Code(err) != 7 {
		t.Errorf("the exit code is %d (%v), not go's", exit.Code(err), err)
	}
}

func TestRunIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		euid int
		env  []string
		args string
		code int
		why  string
	}{
		"no-root":         {1000, nil, "test ./...", exit.Requirement, "this needs root"},
		"race":            {0, nil, "test -race", exit.Usage, "-race needs cgo"},
		"race-of-GOFLAGS": {0, []string{"GOFLAGS=-race"}, "test", exit.Usage, "GOFLAGS: -race needs cgo"},
		"no-value":        {0, nil, "test --memory", exit.Usage, "--memory has no value"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, tt.euid, tt.env, strings.Fields(tt.args)...)
			if exit.Code(err) != tt.code || err == nil || !strings.Contains(err.Error(), tt.why) || out != "" {
				t.Errorf("code %d, %v, %q; want %d with %q", exit.Code(err), err, out, tt.code, tt.why)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"test", "--help"}, {"test", "-h"}} {
		out, err := run(t, 1000, nil, args...)
		if err != nil || !strings.Contains(out, "go test -exec 'mullion run --go-test --' ./...") {
			t.Errorf("of %q: %v, %s", args, err, out)
		}
	}
}

// TestNoGo says what is missing.
func TestNoGo(t *testing.T) {
	a := &command{&invoke.Call{Env: invoke.Env{Environ: []string{"PATH=/none:relative"}}}}
	program, err := a.goProgram()
	if err == nil {
		t.Skipf("there is %s", program)
	}
	var own *exit.Error
	if !errors.As(err, &own) || own.Code != exit.Requirement || !strings.Contains(own.Remedy, "PATH") {
		t.Errorf("the error is %v", err)
	}
}
