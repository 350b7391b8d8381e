// Command results keeps results of tests and compares them.
//
//	results keep SUITE…        copy the newest result of each, as a run has written it, to results/, to be committed
//	results keep FOLDER…       the same of a run of `mullion conformance run`: the folder with its run.json
//	results compare A B        the tests that ended otherwise in B; the exit code is 1 if a test that passed no longer does
//	results list [SUITE]       the results that are kept, the newest first
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"

	"mullion.dev/mullion/hack/kept"
	"mullion.dev/mullion/internal/conformance/result"
)

func main() {
	err := run(context.Background(), os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, errWorse):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(2)
	}
}

// errWorse says that a test passed before and does not any more.
var errWorse = errors.New("a test that passed does not any more")

func run(ctx context.Context, args []string, w io.Writer) error {
	switch {
	case len(args) > 1 && args[0] == "keep":
		for _, what := range args[1:] {
			if err := keep(ctx, what, w); err != nil {
				return err
			}
		}
		return nil

	case len(args) == 3 && args[0] == "compare":
		return compare(args[1], args[2], w)
	case len(args) > 0 && len(args) < 3 && args[0] == "list":
		return list(args[1:], w)
	}

	return errors.New("usage: results keep SUITE|FOLDER… | compare A B | list [SUITE]")
}

// keep copies a result to the folder that is committed.
func keep(ctx context.Context, what string, w io.Writer) error {
	r, err := load(ctx, what)
	if err != nil {
		return err
	}
	if r.Changed {
		fmt.Fprintf(w, "note: the tree had changes beside commit %s\n", r.Commit)
	}

	here, err := os.Getwd()
	if err != nil {
		return err
	}
	for i, t := range r.Tests {
		r.Tests[i].Reason = public(t.Reason, here)
	}

	path, err := kept.Write(kept.Folder, r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, path)
	return err
}

// public returns a reason without what it says of the folders of the machine: that of the checkout, and where programs
// are looked for.
func public(reason, checkout string) string {
	reason = strings.ReplaceAll(reason, checkout, "CHECKOUT")
	return searchPath.ReplaceAllString(reason, "PATH=…")
}

var searchPath = regexp.MustCompile(`PATH=\S+`)

// load reads the newest result of a suite, or the run of a conformance suite.
func load(ctx context.Context, what string) (kept.Result, error) {
	if _, err := os.Stat(filepath.Join(what, "run.json")); err == nil {
		return ofConformance(ctx, what)
	}

	files, err := kept.Files(kept.Fresh, what)
	if err != nil {
		return kept.Result{}, err
	}
	if len(files) == 0 {
		return kept.Result{}, fmt.Errorf("%s: neither a folder with a run.json nor a suite with a result in %s", what,
			kept.Fresh)
	}
	return kept.Read(files[0])
}

// ofConformance makes a result of the folder of a run of Kubernetes' own tests.
func ofConformance(ctx context.Context, folder string) (kept.Result, error) {
	of, err := result.Load(folder)
	if err != nil {
		return kept.Result{}, err
	}

	commit, changed := commitOf(of.Run.Mullion)
	r := kept.Result{
		Suite:    of.Run.Suite + "-" + strings.TrimPrefix(of.Run.Test, "v"),
		Commit:   commit,
		Changed:  changed,
		Began:    of.Run.Start,
		Seconds:  of.Run.Busy.Seconds(),
		Machine:  kept.ThisMachine(ctx),
		Args:     []string{"--focus", of.Run.Focus, "--skip", of.Run.Skip},
		StandIns: of.Run.StandIns,
	}

	if of.Run.End != result.Complete {
		r.Incomplete = strings.TrimSpace(string(of.Run.End) + " " + of.Run.Reason)
	}

	for _, s := range of.All() {
		r.Tests = append(r.Tests, kept.Test{
			Name:     s.Name,
			State:    s.State,
			Attempts: s.Attempts,
			Seconds:  s.Seconds,
			Reason:   s.Message,
		})
	}

	return r, nil
}

// described is how a version of a checkout names its commit: v0.1.0-dev+abcdef01, or as `git describe` does.
var described = regexp.MustCompile(`^(?:.*(?:\+|-g))?([0-9a-f]{7,40})(-dirty)?$`)

// commitOf returns the commit that a version of Mullion names, eight digits at most, and whether the tree had changes.
// A release names none.
func commitOf(version string) (commit string, changed bool) {
	m := described.FindStringSubmatch(version)
	if m == nil {
		return "", false
	}
	return m[1][:min(len(m[1]), 8)], m[2] != ""
}

// compare prints the tests that ended otherwise, and what the runs took.
func compare(before, after string, w io.Writer) error {
	a, err := kept.Read(before)
	if err != nil {
		return err
	}
	b, err := kept.Read(after)
	if err != nil {
		return err
	}

	worse := false
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, d := range kept.Compare(a, b) {
		worse = worse || (passed(d.Before) && d.After != "" && !passed(d.After))
		fmt.Fprintf(t, "%s\t→ %s\t%s\n", orAbsent(d.Before), orAbsent(d.After), d.Name)
	}

	if err := t.Flush(); err != nil {
		return err
	}

	fmt.Fprintf(w, "%d tests, %.0f s, load up to %.1f (%s) → %d tests, %.0f s, load up to %.1f (%s)\n", len(a.Tests),
		a.Seconds, a.Load.Most, a.Commit, len(b.Tests), b.Seconds, b.Load.Most, b.Commit)
	if worse {
		return errWorse
	}

	return nil
}

func passed(s result.State) bool { return s == result.Passed || s == result.Flaky }

func orAbsent(s result.State) string {
	if s == "" {
		return "absent"
	}
	return string(s)
}

// list prints the results that are kept.
func list(suites []string, w io.Writer) error {
	if len(suites) == 0 {
		var err error
		if suites, err = kept.Suites(kept.Folder); err != nil {
			return err
		}
	}

	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "SUITE\tBEGAN\tCOMMIT\tPASSED\tFLAKY\tFAILED\tSKIPPED\tSECONDS\tFILE")
	for _, suite := range suites {
		files, err := kept.Files(kept.Folder, suite)
		if err != nil {
			return err
		}

		for _, file := range files {
			r, err := kept.Read(file)
			if err != nil {
				return err
			}
			n := r.Count()
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%.0f\t%s\n", r.Suite, r.Began.Format("2006-01-02 15:04"), r.Commit,
				n[result.Passed], n[result.Flaky], n[result.Failed], n[result.Skipped], r.Seconds, file)
		}
	}

	return t.Flush()
}
