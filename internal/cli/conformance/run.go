package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/conformance/images"
	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/internal/conformance/runner"
	"mullion.dev/mullion/internal/conformance/suite"
)

// runFlags are the flags of `mullion conformance run`.
type runFlags struct {
	selectionFlags

	kubeconfig, results string
	repoList            string
	nodes, attempts     int
	resume, keepLinux   bool
	prepull             bool
}

func (a *commands) run() *cobra.Command {
	var f runFlags

	cmd := &cobra.Command{
		Use:   "run [SUITE]",
		Short: "Run a suite (smoke if none is named) and write a page with the results",
		Long: `Runs a suite on the cluster that is up, or on any cluster with --kubeconfig. While it runs, Linux nodes have the taint
of control-plane nodes, as in upstream's clusters. So pods that name no operating system go to the Windows nodes.

The result of each spec is saved when the spec ends. After Ctrl-C the running specs clean up, and the results so
far are kept as a partial run, which --resume continues. A second Ctrl-C ends the command at once. The exit code
is 7 if a spec failed.`,
		Example: "  mullion conformance run windows\n  mullion conformance run parallel --nodes 6\n  mullion conformance run --focus 'Secrets.*Conformance' --skip LinuxOnly",
		Args:    oneSuite,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := f.suite(cmd, args)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("nodes") {
				s.Processes = f.nodes
			}

			if cmd.Flags().Changed("flake-attempts") {
				s.Attempts = f.attempts
			}
			if s.Processes < 1 || s.Attempts < 1 {
				return exit.Misuse(errors.New("--nodes and --flake-attempts want at least 1"),
					"see `mullion conformance run --help`")
			}

			return a.runSuite(cmd.Context(), s, f)
		},
	}

	f.register(cmd)
	resultsFlag(cmd, &f.results)
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "",
		"a cluster other than the one that is up; its nodes must be able to pull the images")
	cmd.Flags().IntVar(&f.nodes, "nodes", 0,
		"how many specs run at a time; Ginkgo calls this nodes (default: as the suite says)")
	cmd.Flags().IntVar(&f.attempts, "flake-attempts", 0,
		"how often a failing spec is tried (default: as the suite says)")
	cmd.Flags().BoolVar(&f.resume, "resume", false, "continue the newest run of the suite, if it is partial")
	cmd.Flags().BoolVar(&f.prepull, "prepull-images", false,
		"have the nodes pull the commonest images first, as upstream's jobs do")
	cmd.Flags().StringVar(&f.repoList, "repo-list", "",
		"YAML file, or its URL, that names other registries for the tests' images, as upstream's KUBE_TEST_REPO_LIST; the nodes pull from them")
	cmd.Flags().BoolVar(&f.keepLinux, "no-taint", false, "do not taint Linux nodes while the tests run")

	return cmd
}

func (a *commands) runSuite(ctx context.Context, s suite.Suite, f runFlags) error {
	config := runner.Config{
		Suite:      s,
		Results:    f.results,
		Prepull:    f.prepull,
		TaintLinux: !f.keepLinux,
		Mullion:    version.Mullion(),
		Environ:    a.Env.Environ,
		StandIns:   images.StandIns(),
		Hurry:      func() <-chan struct{} { return interrupt.Next(ctx) },
		Progress:   a.progress(time.Now),
	}

	var err error
	if config.Program, err = a.e2eTest(f.program); err != nil {
		return err
	}
	if config.Environ, err = withRepoList(config.Environ, f.repoList); err != nil {
		return err
	}

	if config.Kubeconfig, err = filepath.Abs(f.kubeconfig); err != nil {
		return err
	}

	if f.kubeconfig == "" {
		if err := a.ownCluster(ctx, &config); err != nil {
			return err
		}
	}

	if f.resume {
		if config.Resume, err = resumable(f.results, s.Name); err != nil {
			return err
		}
	}

	if config.Kubectl, err = a.kubectl(); err != nil {
		return err
	}
	defer interrupt.Finishing(ctx)() // the tests tidy up, which takes minutes
	folder, err := config.Run(ctx)
	return a.end(folder, s.Name, f.results, err)
}

// repoListVariable names other registries to the tests, by a file or a URL
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/test/utils/image/manifest.go, readRepoList).
const repoListVariable = "KUBE_TEST_REPO_LIST"

// mostOfRepoList bounds the file, in bytes.
const mostOfRepoList = 1 << 20

// withRepoList adds a list of registries to an environment; "" is none. The tests panic at a file that they cannot
// read.
func withRepoList(environ []string, list string) ([]string, error) {
	if list == "" {
		return environ, nil
	}

	if u, err := url.Parse(list); err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		data, err := beneath.ReadPath(list, mostOfRepoList)
		if err == nil {
			var names map[string]string
			err = yaml.Unmarshal(data, &names)
		}
		if err == nil {
			list, err = filepath.Abs(list)
		}
		if err != nil {
			return nil, exit.Misuse(fmt.Errorf("--repo-list: %w", err),
				"name a file of YAML, for example with the line: promoterE2eRegistry: registry.example.com/e2e-test-images")
		}
	}

	return append(slices.Clone(environ), repoListVariable+"="+list), nil
}

// end writes the page, also of a partial run, and turns failed specs into an exit code.
func (a *commands) end(folder, suiteName, results string, err error) error {
	if folder == "" {
		return runError(err)
	}
	if pageErr := a.writePage(folder, results, suiteName, 10); pageErr != nil {
		return errors.Join(err, pageErr)
	}

	if err != nil {
		if _, ok := errors.AsType[*runner.Error](err); ok {
			return runError(err)
		}
		remedy := fmt.Sprintf("`mullion conformance run %s --resume` continues it", suiteName)
		if suiteName == customSuite {
			remedy = "the same command with --resume continues it"
		}

		return &exit.Error{
			Code:   exit.Internal,
			Err:    fmt.Errorf("the run is partial: %w", err),
			Remedy: remedy,
		}
	}

	done, err := result.Load(folder)
	if err != nil {
		return err
	}
	if result.Count(done.All())[result.Failed] > 0 {
		return exit.Silent(exit.Different)
	}

	return nil
}

// ownCluster fills in the configuration for the cluster that is up, and loads the images into it.
func (a *commands) ownCluster(ctx context.Context, config *runner.Config) error {
	if err := a.RequireRoot("loads the tests' images into the nodes' stores, unless --kubeconfig names another cluster"); err != nil {
		return err
	}
	paths, c, err := a.Cluster()
	if err != nil {
		return err
	}

	config.Kubeconfig, config.Emulated = paths.AdminKubeconfig(), true
	config.NodeLogs = func(node string) []string {
		files, err := filepath.Glob(filepath.Join(paths.Logs(), "*", node+".log"))
		if err != nil {
			return nil
		}
		return files
	}

	return a.loadImages(ctx, paths, c, false)
}

// resumable returns the folder of the newest run of a suite, which must be partial.
func resumable(results, suiteName string) (string, error) {
	runs, err := result.History(results, suiteName)
	if err != nil {
		return "", err
	}

	if len(runs) == 0 {
		return "", &exit.Error{
			Code:   exit.NotFound,
			Err:    fmt.Errorf("no run of suite %q in %q to continue", suiteName, results),
			Remedy: "leave out --resume, or name the folder of the results with --results",
		}
	}

	newest, err := result.Load(runs[0])
	if err != nil {
		return "", err
	}

	if newest.Run.End == result.Complete {
		return "", &exit.Error{
			Code:   exit.Usage,
			Err:    fmt.Errorf("run %s of suite %q is complete", newest.Run.ID, suiteName),
			Remedy: "leave out --resume to run the suite again",
		}
	}

	return runs[0], nil
}

// progress prints a line for each spec, and on a terminal one more that says how far the run is.
func (a *commands) progress(now func() time.Time) func(runner.Progress) {
	begun := now()
	line := func(text string) {
		if a.Env.Terminal {
			fmt.Fprint(a.Env.Out, "\r\033[K")
		}
		fmt.Fprintln(a.Env.Out, text)
	}

	return func(p runner.Progress) {
		if p.Spec == nil {
			line("…    " + p.Text)
			return
		}
		left := ""
		if p.Left > 0 {
			left = fmt.Sprintf(", about %s left", p.Left.Round(time.Minute/2))
		}

		word := map[result.State]string{
			result.Passed: "ok", result.Failed: "FAIL", result.Flaky: "flaky",
			result.Skipped: "skip",
		}[p.Spec.State]

		at := fmt.Sprintf("%d/%d", p.Done, p.Total)
		line(fmt.Sprintf("%-5s %9s %6.1fs  %s", word, at, p.Spec.Seconds, p.Spec.Name))
		if p.Spec.State == result.Failed {
			message, _, _ := strings.Cut(p.Spec.Message, "\n")
			line("                         " + message)
		}

		if a.Env.Terminal {
			fmt.Fprintf(a.Env.Out, "%s, %d failed, %s%s", at, p.Failed, now().Sub(begun).Round(time.Second), left)
		} else if p.Done%10 == 0 && left != "" {
			line(fmt.Sprintf("…    %s, %d failed, %s%s", at, p.Failed, now().Sub(begun).Round(time.Second), left))
		}
	}
}
