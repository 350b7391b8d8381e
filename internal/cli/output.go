package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/screen"
)

// outputFlags say how a command speaks.
type outputFlags struct {
	quiet, verbose bool
	colour         string
	format         string // "" where the command has no -o
}

// colours returns what --color takes.
func colours() []string { return []string{"auto", "always", "never"} }

// quietFlag is --quiet.
func quietFlag(cmd *cobra.Command, f *outputFlags) {
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print nothing but errors")
}

// steps prints a line for each step of a command.
func (a *app) steps(f outputFlags) func(string) {
	return func(step string) {
		if !f.quiet {
			fmt.Fprintf(a.env.Out, "ok   %s\n", step)
		}
	}
}

// outputFlags are the flags of a command that takes its time.
func (a *app) outputFlags(cmd *cobra.Command, f *outputFlags, verbose string) {
	flags := cmd.Flags()
	quietFlag(cmd, f)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, verbose)
	flags.StringVar(&f.colour, "color", "auto",
		"colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	a.completeValues(cmd, "color", colours())
}

// formatFlag is -o of a command that can also speak to programs.
func (a *app) formatFlag(cmd *cobra.Command, f *outputFlags, usage string) {
	cmd.Flags().StringVarP(&f.format, "output", "o", "text", usage)
	a.completeValues(cmd, "output", []string{"text", "json"})
}

func (f outputFlags) json() bool { return f.format == "json" }

// check refuses flags that are not right.
func (f outputFlags) check() error {
	switch {
	case f.format != "" && f.format != "text" && !f.json():
		return usage(fmt.Errorf("--output %q is neither text nor json", f.format), "for example: -o json")
	case f.colour != "" && !slices.Contains(colours(), f.colour):
		return usage(fmt.Errorf("--color %q is none of %s", f.colour, strings.Join(colours(), ", ")),
			"for example: --color never")
	case f.quiet && f.verbose:
		return usage(errors.New("--quiet and --verbose exclude each other"), "leave one of them out")
	case f.json() && (f.quiet || f.verbose):
		return usage(errors.New("-o json excludes --quiet and --verbose: it has everything, for programs"),
			"leave one of them out")
	}

	return nil
}

// coloured reports whether what is printed has colours (https://no-color.org).
func (a *app) coloured(f outputFlags) bool {
	switch f.colour {
	case "always":
		return true
	case "never":
		return false
	}
	return a.env.Terminal && a.env.Getenv("NO_COLOR") == ""
}

// screen returns where a command's lines go.
func (a *app) screen(f outputFlags) *screen.Screen {
	var size func() screen.Size
	if a.env.Terminal && !f.json() {
		size = a.size
	}
	return screen.New(a.env.Out, size, a.coloured(f))
}

// size returns the terminal's.
func (a *app) size() screen.Size {
	if a.env.Size == nil {
		return screen.Size{}
	}
	columns, rows := a.env.Size()
	return screen.Size{Columns: columns, Rows: rows}
}

// columns returns how wide what is printed may be.
func (a *app) columns() int {
	if n := a.size().Columns; a.env.Terminal && n > 0 {
		return n
	}
	return screen.DefaultColumns
}

// command is this program as a person types it: by its name if the shell finds it so, else by the path that was typed;
// with the folder of the cluster, if that is not the usual one.
func (a *app) command() string {
	program := quoted(a.program())
	if a.dataDir != defaultDataDir {
		program += " --data-dir " + quoted(a.dataDir)
	}
	return program
}

// program is this program as a person types it.
func (a *app) program() string {
	switch {
	case a.onPath():
		return "mullion"
	case strings.Contains(a.env.Program, "/"):
		return a.env.Program
	case a.env.Executable == "": // as in tests
		return "mullion"
	}
	return a.env.Executable
}

// rootCommand is command for what needs root, for somebody who used sudo.
func (a *app) rootCommand() string {
	if uid := a.env.Getenv("SUDO_UID"); uid != "" && uid != "0" {
		return "sudo " + a.command()
	}
	return a.command()
}

// onPath reports whether the command mullion is this program, perhaps by a link.
func (a *app) onPath() bool {
	self, err := os.Stat(a.env.Executable)
	if err != nil {
		return false
	}
	for _, dir := range filepath.SplitList(a.env.Getenv("PATH")) {
		found, err := os.Stat(filepath.Join(dir, "mullion"))
		if err == nil && found.Mode()&0o111 != 0 && !found.IsDir() {
			return os.SameFile(found, self) // the first one is run
		}
	}
	return false
}

// quoted returns a word for a shell: in single quotes if a character of it means something there, else unchanged.
func quoted(word string) string {
	plain := func(r rune) bool {
		return (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') ||
			strings.ContainsRune("/._-+@%,:=", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
