package cli

import (
	"cmp"
	"fmt"
	"regexp"
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
		"create cluster --name dev": "`mullion up` makes a cluster, `mullion run -d` a container",
		"start web":                 "`mullion container start` is for a container, `mullion up` for a cluster\n",
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

// TestDockerWords types commands of Docker that are not here: each is told what does it, and no flag behind it hides
// that.
func TestDockerWords(t *testing.T) {
	m := newMachine(t)
	for typed, want := range map[string]string{
		"attach web":                "did you mean `mullion container attach`?",
		"top web":                   "did you mean `mullion container top`?",
		"stats":                     "did you mean `mullion container stats`?",
		"system prune -af":          "`mullion container prune`, `mullion image prune --run` and `mullion volume prune`",
		"system df":                 "`mullion image ls --run` has the sizes",
		"system":                    "`mullion container ls -a`",
		"network create --driver l": "containers are on one network",
		"compose up -d":             "`sudo mullion docker up`, `eval \"$(mullion docker env)\"`, then `docker compose`\n",
		"docker-compose up":         "`sudo mullion docker up`",
		"login registry.example":    "`docker login` or `podman login` keeps credentials",
		"events":                    "`mullion container ls -a`",
		"commit web app":            "a Dockerfile makes the same",
		"swarm init":                "clusters here are Kubernetes'",
		"builder prune -f":          "`mullion image build --no-cache`",
		"stop web":                  "it ends the whole cluster; `mullion container stop` is for a container",
		"export web":                "`mullion image save` writes an image",
		"export lgs":                "did you mean `mullion export logs`?",
		"node ls":                   "`mullion kubectl get nodes` lists them\n",
		"docker ps -a":              "that is for docker itself: `eval \"$(mullion docker env)\"`, then `docker ps`\n",
		"docker run --rm -it a":     "that is for docker itself: `eval \"$(mullion docker env)\"`, then `docker run`\n",
		"docker upp":                "did you mean `mullion docker up`?",
		"docker zzz":                "see `mullion docker --help`\n",
		"container rm -l web":       "containers find each other by --name, without links\n",
		"container start -ai web":   "`mullion container logs -f CONTAINER`",
		"container stop -s INT web": "`mullion container kill -s INT` sends one\n",
		"image pull -a app":         "one image at a time",
		"volume create -o a=b x":    "the driver local has no options\n",
	} {
		got := m.Run(strings.Fields(typed)...)
		if _, said, _ := strings.Cut(got.Err, "\n→ "); !strings.HasPrefix(said, want) || got.Code != exit.Usage {
			t.Errorf("%s: exit code %d, %s\nwant %s", typed, got.Code, got.Err, want)
		}
	}
}

// TestDockerWordsAreNot holds that what is refused with a remedy is not there, and that a remedy names commands that
// are.
func TestDockerWordsAreNot(t *testing.T) {
	there := map[string]*cobra.Command{}
	everyCommand(Command(), func(c *cobra.Command) {
		if c.IsAvailableCommand() {
			there[cmdline.BelowRoot(c)] = c
		}
	})

	known := func(remedy string) {
		for _, quoted := range regexp.MustCompile("`(?:sudo )?mullion ([^`]*)`").FindAllStringSubmatch(remedy, -1) {
			words := strings.Fields(quoted[1])
			n := 0
			for n < len(words) && there[strings.Join(words[:n+1], " ")] != nil {
				n++
			}
			if n == 0 {
				t.Errorf("%q names `mullion %s`", remedy, quoted[1])
				continue
			}
			c := there[strings.Join(words[:n], " ")]
			for _, word := range words[n:] {
				name, isFlag := strings.CutPrefix(word, "--")
				if isFlag && c.Flags().Lookup(name) == nil && c.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%q: `mullion %s` has no %s", remedy, strings.Join(words[:n], " "), word)
				}
			}
		}
	}

	for words, remedy := range cmdline.DockerWords() {
		if c := there[words]; c != nil && words != "stop" && words != "export" {
			t.Errorf("there is a command %q", words)
		}
		known(remedy)
	}
	for path, flags := range cmdline.DockerFlags() {
		c := there[path]
		if c == nil {
			t.Errorf("there is no command %q", path)
			continue
		}
		for name, remedy := range flags {
			if c.Flags().Lookup(name) != nil || (len(name) == 1 && c.Flags().ShorthandLookup(name) != nil) {
				t.Errorf("%s has the flag %q", path, name)
			}
			known(remedy)
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
