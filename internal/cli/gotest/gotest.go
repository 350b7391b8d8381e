// Package gotest owns `mullion test`: go test for Windows, whose test programs run in containers of this machine.
package gotest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
)

// command is `mullion test`.
type command struct{ *invoke.Call }

// New returns the command.
func New(call *invoke.Call) *cobra.Command {
	a := &command{call}
	return &cobra.Command{
		Use:   "test [--FLAG OF RUN…] [go test flags] [packages]",
		Short: "Run a Go module's tests for Windows, each package's in a container",
		Long: `Runs ` + "`go test`" + ` for Windows: it builds the tests for windows/amd64 without cgo, and each package's program runs in
a Windows container of its own on this machine, as with

  GOOS=windows go test -exec 'mullion run --go-test --' ./...

The tests find the module at the path that it has here, on C: (/home/me/mod is C:\home\me\mod), and work in their
package's folder. Profiles, coverage and what -fuzz finds are put where go test puts them. They have this environment,
but for what is Linux' own: PATH, HOME, TMPDIR and the like are Windows'. What they write below the module stays; a
module that root owns is read-only for them.

Flags of ` + "`mullion run`" + ` that begin with two dashes come first: --windows-version, --network, --memory, --cpus,
--user, --env, --env-file, --volume, --dns, --publish, --hostname. All else is go test's own; -p says how many packages
are tested at once.

Not there: go itself and other programs of this machine, cgo, -race, -msan and -asan, which need it, results of an
earlier run (go keeps none with -exec). The exit code is go's.`,
		Example: `  mullion test ./...
  mullion test --windows-version ltsc2022 -v -run TestPath ./internal/...
  mullion test -coverprofile=cover.out ./...
  mullion test -fuzz=FuzzParse -fuzztime=30s ./parse`,
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return a.test(cmd, args) },
	}
}

// test runs go test.
func (a *command) test(cmd *cobra.Command, args []string) error {
	own, rest, err := split(args)
	if err != nil {
		return err
	}
	if asksForHelp(own, rest) {
		return cmd.Help()
	}

	if err := check(rest); err != nil {
		return err
	}
	if err := a.OfNoCluster().RequireRoot("makes containers"); err != nil {
		return err
	}

	program, err := a.goProgram()
	if err != nil {
		return err
	}
	if err := a.checkSettings(cmd.Context(), program); err != nil {
		return err
	}
	return a.run(cmd.Context(), program, arguments(a.runner(cmd, own), rest))
}

// run runs go, and ends as it does. Ctrl-C goes to it too, by the terminal.
func (a *command) run(ctx context.Context, program string, args []string) error {
	defer interrupt.Finishing(ctx)()
	run := exec.Command(program, args...) //nolint:noctx // go ends what it has begun, at the signals that it gets itself
	run.Env = append(slices.Clone(a.Env.Environ), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	run.Stdin = a.Env.In
	run.Stdout, run.Stderr = a.Env.Out, a.Env.Err
	if err := run.Start(); err != nil {
		return fmt.Errorf("start %q: %w", program, err)
	}

	defer context.AfterFunc(ctx, func() {
		if cause, ok := errors.AsType[*interrupt.Cause](context.Cause(ctx)); ok {
			_ = run.Process.Signal(cause.Signal) // it may have ended
		}
	})()

	err := run.Wait()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		if code := ended.ExitCode(); code > 0 {
			return exit.Silent(code)
		}
		return fmt.Errorf("run %q: %w", program, err)
	}

	return err
}

// goProgram finds go.
func (a *command) goProgram() (string, error) {
	for _, dir := range append(filepath.SplitList(a.Env.Getenv("PATH")), "/usr/local/go/bin", "/usr/lib/go/bin") {
		path := filepath.Join(dir, "go")
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", &exit.Error{
		Code:   exit.Requirement,
		Err:    errors.New("go is not in PATH"),
		Remedy: `install Go (https://go.dev/doc/install), or name its folder: sudo env "PATH=$PATH" mullion test ./...`,
	}
}

// checkSettings refuses flags of GOFLAGS that cannot be heeded.
func (a *command) checkSettings(ctx context.Context, program string) error {
	ask := exec.CommandContext(ctx, program, "env", "GOFLAGS")
	var out, errs bytes.Buffer
	ask.Env = a.Env.Environ
	ask.Stdout, ask.Stderr = &out, &errs
	if err := ask.Run(); err != nil {
		return fmt.Errorf("ask go for its flags: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	if err := check(strings.Fields(out.String())); err != nil {
		return fmt.Errorf("GOFLAGS: %w", err)
	}
	return nil
}

// runner returns the command line by which go runs a test program, quoted as go reads it.
func (a *command) runner(cmd *cobra.Command, own []string) string {
	words := []string{a.Env.Executable}
	if flag := cmd.Root().PersistentFlags().Lookup("data-dir"); flag != nil && flag.Changed {
		words = append(words, "--data-dir", a.DataDir)
	}
	words = append(words, "run", "--go-test")
	words = append(append(words, own...), "--")
	for i, word := range words {
		words[i] = quoted(word)
	}
	return strings.Join(words, " ")
}

// quoted returns a word as go reads it in -exec: it knows quotes and no escapes.
func quoted(word string) string {
	switch {
	case word != "" && !strings.ContainsAny(word, " \t\n'\""):
		return word
	case strings.Contains(word, "'"):
		return `"` + word + `"`
	}
	return "'" + word + "'"
}
