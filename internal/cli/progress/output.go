// Package progress owns how a command that takes its time speaks: its flags, its lines and picture for people, its
// events for programs.
package progress

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/screen"
)

// Flags say how a command speaks.
type Flags struct {
	Quiet, Verbose bool
	colour         string
	format         string // "" where the command has no -o
}

// colours returns what --color takes.
func colours() []string { return []string{"auto", "always", "never"} }

// AddQuiet adds --quiet alone.
func (f *Flags) AddQuiet(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.Quiet, "quiet", "q", false, "print nothing but errors")
}

// Steps prints a line for each step of a command.
func (f *Flags) Steps(out io.Writer) func(string) {
	return func(step string) {
		if !f.Quiet {
			fmt.Fprintf(out, "ok   %s\n", step)
		}
	}
}

// Add adds the flags of a command that takes its time; verbose says what --verbose prints.
func (f *Flags) Add(cmd *cobra.Command, verbose string) {
	flags := cmd.Flags()
	f.AddQuiet(cmd)
	flags.BoolVarP(&f.Verbose, "verbose", "v", false, verbose)
	flags.StringVar(&f.colour, "color", "auto",
		"colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	cmdline.Complete(cmd, "color", colours())
}

// AddFormat adds -o of a command that can also speak to programs.
func (f *Flags) AddFormat(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVarP(&f.format, "output", "o", "text", usage)
	cmdline.Complete(cmd, "output", []string{"text", "json"})
}

// JSON reports whether the command speaks to a program.
func (f *Flags) JSON() bool { return f.format == "json" }

// Check refuses flags that are not right.
func (f *Flags) Check() error {
	switch {
	case f.format != "" && f.format != "text" && !f.JSON():
		return exit.Misuse(fmt.Errorf("--output %q is neither text nor json", f.format), "for example: -o json")
	case f.colour != "" && !slices.Contains(colours(), f.colour):
		return exit.Misuse(fmt.Errorf("--color %q is none of %s", f.colour, strings.Join(colours(), ", ")),
			"for example: --color never")

	case f.Quiet && f.Verbose:
		return exit.Misuse(errors.New("--quiet and --verbose exclude each other"), "leave one of them out")
	case f.JSON() && (f.Quiet || f.Verbose):
		return exit.Misuse(errors.New("-o json excludes --quiet and --verbose: it has everything, for programs"),
			"leave one of them out")
	}

	return nil
}

// coloured reports whether what is printed has colours (https://no-color.org).
func (f *Flags) coloured(call *invoke.Call) bool {
	switch f.colour {
	case "always":
		return true
	case "never":
		return false
	}
	return call.Env.Terminal && call.Env.Getenv("NO_COLOR") == ""
}

// Screen returns where a command's lines go.
func (f *Flags) Screen(call *invoke.Call) *screen.Screen {
	var size func() screen.Size
	if call.Env.Terminal && !f.JSON() {
		size = call.Size
	}
	return screen.New(call.Env.Out, size, f.coloured(call))
}
