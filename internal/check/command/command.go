// Package command owns what `mullion check` does, without its flags: it opens what is to be checked, runs the checker
// and prints. It links nothing of a cluster, so that a small program can hold the checker alone.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/manifest"
	"mullion.dev/mullion/internal/check/report"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/winver"
)

// Options are the command's flags and arguments.
type Options struct {
	Paths      []string // files, folders, "-"; none: standard input
	Kubernetes string   // "1.36"
	Windows    []string // names of winver; none: the long-term releases
	FailOn     string   // the severity from which findings count: error, warning, info
	Output     string   // text or json
}

// Outcome is what the exit code is made of.
type Outcome struct {
	Findings   bool // at or over FailOn
	Unreadable bool // some input was not checked
}

// UsageError is an option that is not right.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Run checks everything that the options name and prints to out as it goes.
func Run(ctx context.Context, o Options, in io.Reader, out io.Writer) (Outcome, error) {
	var result Outcome
	co, err := o.checkOptions()
	if err != nil {
		return result, &UsageError{err}
	}
	checker, err := check.New(rules.All(), co)
	if err != nil {
		return result, err
	}
	var printer interface {
		Result(check.Result) error
		Close() error
	} = report.NewText(out)
	if o.Output == "json" {
		printer = report.NewJSON(out)
	}
	emit := func(r check.Result) error {
		result.Unreadable = result.Unreadable || len(r.Faults) > 0
		for _, f := range r.Findings {
			result.Findings = result.Findings || f.Severity.AtLeast(check.Severity(o.FailOn))
		}
		return printer.Result(r)
	}
	if len(o.Paths) == 0 {
		o.Paths = []string{"-"}
	}
	for _, path := range o.Paths {
		if err := checkPath(ctx, checker, path, in, emit); err != nil {
			return result, err
		}
	}
	if err := checker.Finish(emit); err != nil {
		return result, err
	}
	return result, printer.Close()
}

func (o Options) checkOptions() (check.Options, error) {
	var co check.Options
	minor, ok := strings.CutPrefix(strings.TrimPrefix(o.Kubernetes, "v"), "1.")
	minor, _, _ = strings.Cut(minor, ".")
	n, err := strconv.Atoi(minor)
	if !ok || err != nil || n < 14 {
		return co, fmt.Errorf("kubernetes version %q: want 1.14 or later, for example 1.36", o.Kubernetes)
	}
	co.Kubernetes = n
	names := o.Windows
	co.Chosen = len(names) > 0
	if len(names) == 0 {
		names = LongTerm()
	}
	for _, name := range names {
		b, err := winver.Lookup(name)
		if err != nil {
			return co, err
		}
		co.Windows = append(co.Windows, b)
	}
	if !slices.Contains([]string{"error", "warning", "info"}, o.FailOn) {
		return co, fmt.Errorf("severity %q: want error, warning or info", o.FailOn)
	}
	if o.Output != "text" && o.Output != "json" {
		return co, fmt.Errorf("output %q: want text or json", o.Output)
	}
	return co, nil
}

// LongTerm lists the catalogue's long-term releases: what is checked for if nothing else is said.
func LongTerm() []string {
	return slices.DeleteFunc(winver.Names(), func(n string) bool { return !strings.HasPrefix(n, "ltsc") })
}

// checkPath checks a file, standard input, or a folder's .yaml, .yml and .json files.
func checkPath(ctx context.Context, c *check.Checker, path string, in io.Reader, emit func(check.Result) error) error {
	if path == "-" {
		return unread("<stdin>", c.Run(ctx, "<stdin>", in, emit), emit)
	}
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return unread(p, err, emit)
		case d.IsDir() && isChart(p):
			err := emit(check.Result{File: p, Faults: []manifest.Fault{{
				Pos: manifest.Pos{Line: 1, Column: 1}, Fatal: true, Message: "this is a Helm chart, whose templates have to be rendered",
				Remedy: "`helm template NAME " + p + " | mullion check -`",
			}}})
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		case d.IsDir() && p != path && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || p != path && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(p)):
			return nil
		}
		f, err := os.Open(p)
		if err != nil {
			return unread(p, err, emit)
		}
		defer f.Close()
		return unread(p, c.Run(ctx, p, f, emit), emit)
	})
}

func isChart(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "Chart.yaml"))
	return err == nil
}

// unread turns an error of reading into a fault, so that the other inputs are still checked.
func unread(file string, err error, emit func(check.Result) error) error {
	var pathErr *fs.PathError
	if err == nil || !errors.As(err, &pathErr) {
		return err
	}
	return emit(check.Result{File: file, Faults: []manifest.Fault{{Pos: manifest.Pos{Line: 1, Column: 1}, Fatal: true, Message: err.Error()}}})
}
