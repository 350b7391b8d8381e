package up

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/bringup"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/progress"
	"mullion.dev/mullion/internal/cli/screen"
	"mullion.dev/mullion/internal/cluster/preflight"
)

// doctorReport is what `mullion doctor -o json` prints.
type doctorReport struct {
	// Fit says that nothing was found that keeps a cluster from coming up.
	Fit bool `json:"fit"`
	// Root says that root looked; otherwise some things were not seen.
	Root   bool              `json:"root"`
	Checks []preflight.Check `json:"checks"`
}

// doctor is `mullion doctor`.
type doctor struct{ *Commands }

// Doctor returns `mullion doctor`.
func (a *Commands) Doctor() *cobra.Command {
	var f upFlags

	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether this machine has what a cluster needs, and what to do if not",
		Long: `Looks at this machine as ` + "`mullion up`" + ` does before it brings up a cluster: the kernel, programs, folders, cgroups,
networks, memory, disk, subnets, firewall. It changes nothing. The cluster is the one of --file or
--windows-version, else that of the data folder, else the one that ` + "`mullion up`" + ` makes without flags.

Each line is a check: ok; warn, if a cluster comes up and will lack something; FAIL, if a cluster cannot come up. Below
what is wrong is why a cluster needs it, and what to do (→). A line with ? says what an ordinary user cannot see;
with sudo it is looked at too.

The exit code is 0 if a cluster can come up as far as could be seen, and 3 if not. -o json prints one object: fit,
root (whether root looked) and checks (check, state, means, seen, notSeen, findings).`,
		Example: "  mullion doctor\n  sudo mullion doctor -f cluster.yaml\n" +
			"  mullion doctor -o json | jq '.checks[] | select(.state == \"failed\")'",
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return doctor{a}.run(cmd, f) },
	}

	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "cluster.yaml of the cluster to come (- for standard input)")
	flags.StringSliceVar(&f.versions, "windows-version", nil, "as with mullion up: the cluster to come has these Windows nodes")
	flags.StringVar(&f.kubernetes, "kubernetes-version", "", "as with mullion up: the cluster to come has this Kubernetes")
	bringup.WineFlag(cmd, &f.wine)
	f.out.Add(cmd, "also say of what is right why a cluster needs it")
	cmd.Flags().Lookup("quiet").Usage = "print only what is wrong"
	f.out.AddFormat(cmd, "text or json")
	cmdline.Complete(cmd, "windows-version", cmdline.WindowsVersions())

	return cmd
}

func (a doctor) run(cmd *cobra.Command, f upFlags) error {
	if err := f.out.Check(); err != nil {
		return err
	}

	paths, err := a.Paths()
	if err != nil {
		return err
	}
	want, err := a.wanted(cmd.Context(), paths, f)
	if err != nil {
		return err
	}

	o := bringup.Options(a.Call, paths, want)
	checks := a.calls.Examine(cmd.Context(), o)
	if f.out.JSON() {
		err = json.NewEncoder(a.Env.Out).Encode(doctorReport{
			Fit:    len(failedOf(checks)) == 0,
			Root:   !o.Unprivileged,
			Checks: checks,
		})
		return errors.Join(err, unfit(checks))
	}

	if !f.out.Quiet {
		a.sayUnread(paths)
	}
	a.print(checks, f.out)
	return unfit(checks)
}

// unfit returns the error of a machine on which a cluster cannot come up.
func unfit(checks []preflight.Check) error {
	failed := failedOf(checks)
	if len(failed) == 0 {
		return nil
	}
	return &exit.Error{
		Code:   exit.Requirement,
		Err:    fmt.Errorf("this machine lacks what a cluster needs: %s", strings.Join(failed, ", ")),
		Remedy: "do what the lines with an arrow (remedy, in JSON) say, then run `mullion doctor` again",
	}
}

// failedOf returns the names of the checks that keep a cluster from coming up.
func failedOf(checks []preflight.Check) []string {
	var names []string
	for _, c := range checks {
		if c.State == preflight.Failed {
			names = append(names, c.Name)
		}
	}
	return names
}

// checkColumns is where the text of a check begins: behind its mark and its name.
const checkColumns = 5 + 13

// print prints a line for each check, and below it what a person has to know.
func (a doctor) print(checks []preflight.Check, f progress.Flags) {
	s := f.Screen(a.Call)
	count := map[preflight.State]int{}
	for _, c := range checks {
		count[c.State]++
		if f.Quiet && c.State != preflight.Failed && c.State != preflight.Warned {
			continue
		}
		s.Print(a.lines(c, f.Verbose)...)
	}

	if f.Quiet {
		return
	}

	parts := []string{fmt.Sprintf("\n%d of %d checks are right", count[preflight.Passed], len(checks))}
	for _, more := range []struct {
		state preflight.State
		text  string
	}{
		{preflight.Warned, "%d warned of something"}, {preflight.Failed, "%d failed"}, {preflight.Unseen, "%d not seen without root"},
	} {
		if n := count[more.state]; n > 0 {
			parts = append(parts, fmt.Sprintf(more.text, n))
		}
	}

	s.Print(screen.Line{Text: strings.Join(parts, ", ") + "."})
	if hidden(checks) {
		s.Print(screen.Line{Text: "With root, all is looked at: sudo " + a.Command() + " doctor"})
	}
}

// hidden reports whether root would see more.
func hidden(checks []preflight.Check) bool {
	for _, c := range checks {
		if c.NotSeen != "" {
			return true
		}
	}
	return false
}

// lines returns the lines of a check.
func (a doctor) lines(c preflight.Check, verbose bool) []screen.Line {
	var all []screen.Line
	add := func(l screen.Line, text string) {
		name := ""
		if len(all) == 0 {
			name = c.Name
		}
		l.Text = screen.Pad(name, checkColumns-5) + screen.Hang(text, checkColumns, a.Columns()-1)
		all = append(all, l)
	}

	blank := screen.Line{Mark: " "}
	if c.State == preflight.Passed {
		add(screen.Line{Mark: "ok", Tone: screen.Good}, c.Seen)
	}

	for _, f := range c.Findings {
		mark := screen.Line{Mark: "warn", Tone: screen.Notice}
		if f.Fatal {
			mark = screen.Line{Mark: "FAIL", Tone: screen.Bad}
		}
		add(mark, f.Problem)
		add(blank, "→ "+f.Remedy)
	}

	if c.NotSeen != "" {
		add(screen.Line{Mark: "?"}, "not seen without root: "+c.NotSeen)
	}
	if verbose || c.State == preflight.Failed || c.State == preflight.Warned {
		add(blank, "("+c.Means+")")
	}

	return all
}
