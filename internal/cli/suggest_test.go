package cli

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/cli/screen"
)

// TestWhatWasMeant types what people type who come from other tools.
func TestWhatWasMeant(t *testing.T) {
	m := newMachine(t)
	for typed, want := range map[string]string{
		"upp":                       "did you mean `mullion up`?",
		"statsu":                    "did you mean `mullion status`?",
		"Status":                    "did you mean `mullion status`?",
		"get clusters":              "did you mean `mullion kubectl` or `mullion status`?",
		"ls":                        "did you mean `mullion status`",
		"ps":                        "did you mean `mullion container ls` or `mullion status`?",
		"load docker-image a":       "did you mean `mullion image load`?",
		"create cluster --name dev": "did you mean `mullion up`?",
		"delete cluster":            "did you mean `mullion down`?",
		"build .":                   "did you mean `mullion image build`",
		"images":                    "did you mean `mullion image ls`?",
		"rmi app":                   "did you mean `mullion image rm`?",
		"push app":                  "did you mean `mullion image push`?",
		"rm web":                    "did you mean `mullion container rm`?",
		"exec web cmd":              "did you mean `mullion container exec`?",
		"ui":                        "",
		"zz":                        "",
		"foo":                       "",
		"image bild":                "did you mean `mullion image build`?",
		"conf":                      "did you mean `mullion conformance`?",
		"supervis":                  "", // not for people
	} {
		got := m.Run(strings.Fields(typed)...)
		word := strings.Fields(typed)[0]
		if word == "image" {
			word = "bild"
		}
		if !strings.Contains(got.Err, fmt.Sprintf("has no command %q\n", word)) || got.Code != exit.Usage {
			t.Errorf("%s: exit code %d, %s", typed, got.Code, got.Err)
		}

		if _, said, _ := strings.Cut(got.Err, "→ "); !strings.HasPrefix(said, cmp.Or(want, "see `mullion --help`")) {
			t.Errorf("%s: said %q, want %q", typed, said, want)
		}
	}
}

func TestWhichFlagWasMeant(t *testing.T) {
	m := newMachine(t)
	for typed, want := range map[string]string{
		"up --windows-versions ltsc2022": "unknown flag: --windows-versions\n→ did you mean `--windows-version`? Otherwise see `mullion up --help`",
		"up --config kind.yaml":          "unknown flag: --config\n→ did you mean `--file`? Otherwise see `mullion up --help`",
		"up --nodes 3":                   "unknown flag: --nodes\n→ see `mullion up --help`",
		"up --image x":                   "unknown flag: --image\n→ see `mullion up --help`",
		"up --dryrun":                    "unknown flag: --dryrun\n→ did you mean `--dry-run`? Otherwise see `mullion up --help`",
		"up -z":                          "unknown shorthand flag: 'z' in -z\n→ see `mullion up --help`",
		"status --outptu json":           "unknown flag: --outptu\n→ did you mean `--output`? Otherwise see `mullion status --help`",
		"--name dev create":              "unknown flag: --name\n→ see `mullion --help`",
	} {
		if got := m.Run(strings.Fields(typed)...); got.Err != "mullion: "+want+"\n" || got.Code != exit.Usage {
			t.Errorf("%s: exit code %d, %s", typed, got.Code, got.Err)
		}
	}
}

// everyCommand calls do with each command of the program.
func everyCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, c := range cmd.Commands() {
		everyCommand(c, do)
	}
}

// TestFlagsAreNamed holds that no back quotes in a flag's text make the name of its value by accident.
func TestFlagsAreNamed(t *testing.T) {
	everyCommand(Command(), func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); strings.ContainsAny(name, " -`") {
				t.Errorf("%s --%s: its value has the name %q", c.CommandPath(), f.Name, name)
			}
		})
	})
}

// TestOtherWordsAreOfCommands holds that what is suggested is there.
func TestOtherWordsAreOfCommands(t *testing.T) {
	there := map[string]bool{}
	everyCommand(Command(), func(c *cobra.Command) { there[cmdline.BelowRoot(c)] = c.IsAvailableCommand() })
	for path := range cmdline.OtherWords() {
		if !there[path] {
			t.Errorf("there is no command %q", path)
		}
	}
}

// TestHelpIsBroken holds that the help of every command is no wider than the terminal, but for what cannot be broken.
func TestHelpIsBroken(t *testing.T) {
	for _, columns := range []int{80, 200} {
		root := Command()
		frame.Help(root, columns)

		everyCommand(root, func(c *cobra.Command) {
			var out strings.Builder
			root.SetOut(&out)
			if err := c.Help(); err != nil {
				t.Fatal(err)
			}

			example := false
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				example = (example || line == "Examples:") && line != ""
				if example || strings.HasPrefix(line, "  mullion") || strings.Contains(line, "://") {
					continue
				}
				if n := screen.Width(line); n > columns && len(strings.Fields(line)) > 1 {
					t.Errorf("%s: %d columns of %d: %s", c.CommandPath(), n, columns, line)
				}
			}
		})
	}
}
