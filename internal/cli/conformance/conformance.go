// Package conformance owns `mullion conformance`: running Kubernetes' own tests, and the page of what came out. How tests
// are run and pages are written is elsewhere.
package conformance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/conformance/page"
	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/internal/conformance/runner"
	"mullion.dev/mullion/internal/conformance/suite"
)

// e2eTest is where `make e2e` puts the tests, below the folder of Mullion's programs.
const e2eTest = "e2e/e2e.test"

// commands are `mullion conformance`.
type commands struct {
	*reader.Reader

	kubectl func() (string, error)
}

// New returns the command with those below it; kubectl finds the program.
func New(r *reader.Reader, kubectl func() (string, error)) *cobra.Command {
	a := &commands{Reader: r, kubectl: kubectl}
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Run Kubernetes' own e2e tests on Windows nodes, of this cluster or any other",
		Long: `Runs Kubernetes' own e2e tests, built unpatched from the pinned version, with the arguments of upstream's Windows jobs.
The tests' images are made on this machine, so neither a registry nor the Internet is needed. Some programs in
the images are stand-ins; the page of results names them.

  make e2e                              builds the tests in a checkout (the package mullion-e2e has them)
  mullion conformance run               the short suite, on the cluster that is up
  mullion conformance run parallel      what upstream runs for a release`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}

	cmd.AddCommand(a.run(), a.critest(), a.suites(), a.list(),
		a.images(), a.report())
	return cmd
}

// selectionFlags are the flags that select specs.
type selectionFlags struct {
	focus, skip, program string
	drivers              []string
}

func (s *selectionFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.focus, "focus", "", "regular expression of the specs to run, instead of the suite's")
	cmd.Flags().StringVar(&s.skip, "skip", "", "regular expression of specs to leave out, instead of the suite's")
	cmd.Flags().StringVar(&s.program, "e2e-test", "",
		"an e2e.test program (default: the one that \"make e2e\" has built)")
	cmd.Flags().StringArrayVar(&s.drivers, "storage-driver", nil, "YAML file that defines a driver of storage, as upstream's "+
		"-storage.testdriver; it adds specs, which --focus External.Storage selects")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, s := range suite.All() {
			names = append(names, s.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// customSuite is the name of the specs that --focus or --skip selects. Nobody can ask for it by name.
const customSuite = "custom"

// suite returns the suite that the arguments name, with expressions replaced by those of the flags.
func (s *selectionFlags) suite(cmd *cobra.Command, args []string) (suite.Suite, error) {
	name := "smoke"
	if len(args) > 0 {
		name = args[0]
	}
	found, err := suite.Lookup(name)
	if err != nil {
		return found, exit.Misuse(err, "`mullion conformance suites` describes each of them")
	}

	if cmd.Flags().Changed("focus") {
		found.Name = customSuite
		found.Focus = s.focus
		found.Skip = ""
		found.Source = "--focus and --skip"
	}

	if cmd.Flags().Changed("skip") {
		found.Name = customSuite
		found.Skip = s.skip
		found.Source = "--focus and --skip"
	}

	for _, driver := range s.drivers {
		if _, err := os.Stat(driver); err != nil {
			return found, exit.Misuse(fmt.Errorf("--storage-driver: %w", err), "name a file as test/e2e/testdata/csidriver/e2e.yaml")
		}
		if driver, err = filepath.Abs(driver); err != nil {
			return found, err
		}
		found.Drivers = append(found.Drivers, driver)
	}

	return found, nil
}

func (a *commands) e2eTest(flag string) (string, error) {
	if flag == "" {
		flag = filepath.Join(filepath.Dir(a.Env.Executable), filepath.FromSlash(e2eTest))
	}
	return filepath.Abs(flag)
}

// oneSuite allows no argument or one.
func oneSuite(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Misuse(fmt.Errorf("`%s` takes one suite, got %d arguments", cmd.CommandPath(), len(args)),
			"`mullion conformance suites` lists them")
	}
	return nil
}

func (a *commands) suites() *cobra.Command {
	return &cobra.Command{
		Use:   "suites",
		Short: "List the suites, with upstream's focus and skip expressions and their source",
		Args:  cmdline.None,
		RunE: func(*cobra.Command, []string) error {
			for _, s := range suite.All() {
				t := tabwriter.NewWriter(a.Env.Out, 0, 4, 2, ' ', 0)
				fmt.Fprintf(t, "%s\t%s\n", s.Name, s.About)
				if s.Name != "smoke" {
					fmt.Fprintf(t, "  focus\t%s\n  skip\t%s\n", s.Focus, s.Skip)
				}

				fmt.Fprintf(t, "  runs\t%d at a time, each up to %d times\n  from\t%s\n\n", s.Processes, s.Attempts,
					s.Source)
				if err := t.Flush(); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

func (a *commands) list() *cobra.Command {
	var flags selectionFlags

	cmd := &cobra.Command{
		Use:   "list [SUITE]",
		Short: "List the specs that a suite selects; no cluster is needed",
		Args:  oneSuite,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := flags.suite(cmd, args)
			if err != nil {
				return err
			}
			program, err := a.e2eTest(flags.program)
			if err != nil {
				return err
			}

			names, err := runner.List(cmd.Context(), program, s)
			if err != nil {
				return runError(err)
			}
			_, err = fmt.Fprintln(a.Env.Out, strings.Join(names, "\n"))
			return err
		},
	}

	flags.register(cmd)
	return cmd
}

func (a *commands) report() *cobra.Command {
	var results string
	var keep int

	cmd := &cobra.Command{
		Use:   "report [SUITE]",
		Short: "Write the page of a suite's newest run again, for example after the list of known causes has changed",
		Args:  oneSuite,
		RunE: func(_ *cobra.Command, args []string) error {
			name := "smoke"
			if len(args) > 0 {
				name = args[0]
			}

			runs, err := result.History(results, name)
			if err != nil {
				return err
			}

			if len(runs) == 0 {
				return &exit.Error{
					Code:   exit.NotFound,
					Err:    fmt.Errorf("no run of suite %q in %q", name, results),
					Remedy: "`mullion conformance run` makes one; --results names another folder",
				}
			}

			return a.writePage(runs[0], results, name, keep)
		},
	}

	resultsFlag(cmd, &results)
	cmd.Flags().IntVar(&keep, "history", 10, "how many earlier runs the page shows beside this one")
	return cmd
}

func resultsFlag(cmd *cobra.Command, results *string) {
	cmd.Flags().StringVar(results, "results", "conformance-results", "folder of the results of all runs")
}

// writePage writes the page of a run, and prints its path and a summary.
func (a *commands) writePage(folder, results, suiteName string, keep int) error {
	causes, err := result.KnownCauses()
	if err != nil {
		return err
	}
	runs, err := result.History(results, suiteName)
	if err != nil {
		return err
	}

	file, err := page.Write(folder, runs[:min(len(runs), keep+1)], causes)
	if err != nil {
		return err
	}
	p, err := page.Make(folder, nil, causes)
	if err != nil {
		return err
	}

	fmt.Fprintf(a.Env.Out, "\n%d specs:", p.Total)
	for _, s := range result.States() {
		if n := p.Counts[s]; n > 0 {
			fmt.Fprintf(a.Env.Out, " %d %s", n, s)
		}
	}

	fmt.Fprintln(a.Env.Out)
	for _, c := range p.Causes {
		fmt.Fprintf(a.Env.Out, "  %d failed: %s\n", c.Count, c.Class)
	}

	_, err = fmt.Fprintf(a.Env.Out, "%s\n", file)
	return err
}

// runError adds the remedy and exit code to an error of the runner.
func runError(err error) error {
	if own, ok := errors.AsType[*runner.Error](err); ok {
		return &exit.Error{
			Code:   exit.Requirement,
			Err:    own.Err,
			Remedy: own.Remedy,
		}
	}
	return err
}
