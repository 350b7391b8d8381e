package cmdline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mullion.dev/mullion/internal/cli/exit"
)

// OtherWords returns what people type who come from other tools, by the command that does it here.
func OtherWords() map[string][]string {
	return map[string][]string{
		"up":                {"init"},
		"down":              {"delete", "destroy", "remove", "reset", "uninstall", "prune"},
		"stop":              {"halt", "shutdown"},
		"status":            {"get", "ls", "ps", "list", "info", "show", "inspect"},
		"kubectl":           {"get", "apply", "describe", "k"},
		"container":         {"containers"},
		"container ls":      {"ps"},
		"container rm":      {"rm"},
		"container inspect": {"inspect"},
		"container exec":    {"exec"},
		"container attach":  {"attach"},
		"container stats":   {"stats"},
		"container top":     {"top"},
		"kubeconfig":        {"config"},
		"node":              {"nodes", "ssh", "shell"},
		"image build":       {"buildx"},
		"image load":        {"import"},
		"image ls":          {"images"},
		"image pull":        {"pull"},
		"image push":        {"push"},
		"image rm":          {"rmi"},
		"doctor":            {"preflight", "sysinfo", "verify"},
		"check":             {"lint", "validate"},
		"diagnose":          {"debug", "troubleshoot"},
		"export logs":       {"dump"},
	}
}

// None is cobra.NoArgs with an exit code, and with a suggestion of the command that was meant.
func None(cmd *cobra.Command, args []string) error {
	help := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	if len(args) == 0 {
		return nil
	}
	does, exact := dockerRemedy(cmd, args)
	if !cmd.HasSubCommands() {
		return exit.Misuse(fmt.Errorf("`%s` takes no arguments, got %q", cmd.CommandPath(), args[0]), cmp.Or(does, help))
	}

	meant := meantCommands(cmd, args[0])
	switch {
	case exact, does != "" && len(meant) == 0:
		help = does
	case len(meant) > 0:
		help = fmt.Sprintf("did you mean %s? Otherwise %s", strings.Join(meant, " or "), help)
	}
	return exit.Misuse(fmt.Errorf("`%s` has no command %q", cmd.CommandPath(), args[0]), help)
}

// meantCommands returns the commands that somebody may have meant by a word: those that other tools call so; else the
// one whose name is nearly the word, and those further down that have the name; else those whose names begin with it.
func meantCommands(cmd *cobra.Command, word string) []string {
	word = strings.ToLower(word)
	var theirs, near, below, longer []string
	best := len(word)/3 + 1 // letters
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		path := "`" + c.CommandPath() + "`"
		theirs = append(theirs, calledSo(c, word)...)
		if d := distance(word, c.Name()); d < best {
			best, near = d, []string{path}
		}

		for _, sub := range c.Commands() {
			if sub.Name() == word && sub.IsAvailableCommand() {
				below = append(below, "`"+sub.CommandPath()+"`")
			}
		}

		if len(word) > 1 && strings.HasPrefix(c.Name(), word) {
			longer = append(longer, path)
		}
	}

	switch {
	case len(theirs) > 0:
		return theirs
	case best == 0: // the name itself, but for the case
		return near
	case len(near)+len(below) > 0:
		return append(near, below...)
	}

	return longer
}

// calledSo returns a command, and those below it, that other tools call so.
func calledSo(cmd *cobra.Command, word string) []string {
	var all []string
	for _, c := range append([]*cobra.Command{cmd}, cmd.Commands()...) {
		if slices.Contains(OtherWords()[BelowRoot(c)], word) {
			all = append(all, "`"+c.CommandPath()+"`")
		}
	}
	return all
}

// BelowRoot returns the words of a command behind the program's name.
func BelowRoot(c *cobra.Command) string {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	return path
}

// FlagError returns the error of flags that are not right, with what was meant.
func FlagError(cmd *cobra.Command, err error) error {
	// A flag behind a word that is no command belongs to that word, so the word is what is wrong.
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return None(cmd, words)
	}
	help := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return exit.Misuse(err, help)
	}
	if does, known := DockerFlags()[BelowRoot(cmd)][unknown.GetSpecifiedName()]; known {
		return exit.Misuse(err, does)
	}
	if unknown.GetSpecifiedShortnames() == "" {
		if near := meantFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			help = fmt.Sprintf("did you mean `--%s`? Otherwise %s", near, help)
		}
	}
	return exit.Misuse(err, help)
}

// meantFlag returns the flag that somebody may have meant by a name, "" if none is near.
func meantFlag(cmd *cobra.Command, name string) string {
	theirs := map[string]string{"config": "file", "timeout": "wait", "format": "output", "follow": "watch"}
	near, best := "", len(name)/3+1 // letters
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}

		d := distance(name, f.Name)
		if theirs[name] == f.Name {
			d = 0
		}
		if d < best {
			near, best = f.Name, d
		}
	})

	return near
}

// distance returns how many letters have to be put in, taken out or replaced to make one word of the other
// (Levenshtein).
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	for j := range before {
		before[j] = j
	}

	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replaced := before[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, before[j+1]+1, row[j]+1)
		}

		before = row
	}

	return before[len(b)]
}
