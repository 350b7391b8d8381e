// Package command owns what `mullion check` does, without its flags: it opens the inputs, runs the checker and prints.
// It links no code for clusters, so that a small program can contain just the checker.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/images"
	"mullion.dev/mullion/internal/check/manifest"
	"mullion.dev/mullion/internal/check/report"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

// Options are the command's flags and arguments. An empty field is taken from the configuration file, or else has its
// default.
type Options struct {
	Paths      []string // files, folders, "-"; none: standard input
	Kubernetes string   // "1.37"; left out, the version that Mullion comes with
	Windows    []string // names of winver; none: the long-term releases
	FailOn     string   // the severity from which findings count: error (the default), warning, info
	Output     string   // one of Outputs; text is the default
	// ShowSuppressed prints also the findings that annotations ignore.
	ShowSuppressed bool
	// Offline asks no registry about images; images that are not in ImageLayouts are judged by their names.
	Offline bool
	// ImageLayouts are folders and archives of images, which come before registries.
	ImageLayouts []string
	// Config is the configuration file; "": the nearest ConfigName above Dir.
	Config, Dir string
	// Fix is FixWrite to change the files by the edits of findings, FixDiff to print what would change instead of the
	// findings; "" for neither.
	Fix string
	// Cluster checks the objects in the cluster of kubectl's current context, instead of Paths.
	Cluster bool
	// Kubectl is kubectl with its first arguments; kubectl in PATH when empty.
	Kubectl []string
	// Version is the program's, for SARIF.
	Version string
}

// Outputs returns the formats.
func Outputs() []string { return []string{"text", "json", "sarif", "github", "junit"} }

// Outcome is the result of a run, from which the exit code follows.
type Outcome struct {
	Findings   bool // at or over FailOn
	FailOn     string
	Unreadable bool // some input could not be checked
}

// The exit codes of a check that ran. Zero says that nothing was found and all was read.
const (
	CodeFindings   = 8
	CodeUnreadable = 9
)

// Code returns the exit code of the program.
func (o Outcome) Code() int {
	switch {
	case o.Unreadable:
		return CodeUnreadable
	case o.Findings:
		return CodeFindings
	}
	return 0
}

// Message says why the exit code is not zero, "" if it is zero.
func (o Outcome) Message() string {
	switch o.Code() {
	case CodeUnreadable:
		return "some of the input, or of the images that it names, was not read; the places are listed above"
	case CodeFindings:
		return fmt.Sprintf("there are findings of severity %s or worse", o.FailOn)
	}
	return ""
}

// tell returns what notes the outcome of each result, and prints it.
func (o *Outcome) tell(to printer) func(check.Result) error {
	var listing check.Listing
	atLeast := check.Severity(o.FailOn)
	return func(r check.Result) error {
		for i := range r.Findings {
			f := &r.Findings[i]
			o.Findings = o.Findings || (f.Suppressed == "" && f.Severity.AtLeast(atLeast))
		}

		for severity := range r.Unlisted.Findings {
			o.Findings = o.Findings || severity.AtLeast(atLeast)
		}

		isUnread := r.Unlisted.Faults > 0
		o.Unreadable = o.Unreadable || isUnread || slices.ContainsFunc(r.Faults, func(f manifest.Fault) bool {
			return !f.Unlisted
		})
		return to.Result(listing.Bounded(r))
	}
}

// UsageError is an error in an option.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// printer is a type of package report.
type printer interface {
	Result(check.Result) error
	Close() error
}

func (o Options) printer(out io.Writer) printer {
	switch o.Output {
	case "json":
		p := report.NewJSON(out)
		p.ShowSuppressed = o.ShowSuppressed
		return p

	case "sarif":
		return report.NewSARIF(out, o.Version)
	case "github":
		return report.NewGitHub(out)
	case "junit":
		return report.NewJUnit(out, check.Severity(o.FailOn))
	}

	p := report.NewText(out)
	p.ShowSuppressed = o.ShowSuppressed
	return p
}

// run is one call of Run.
type run struct {
	config  *config
	checker *check.Checker
	rules   []check.Rule
	options check.Options
	in      io.Reader
	fix     string
	out     io.Writer // of FixDiff
	emit    func(check.Result) error
}

// gcPercent is the garbage collector's setting during a check. A few MiB are live and a hundred times as much is
// garbage, so with the default a third of the time would be spent on collecting; this setting costs some 10 MiB. From
// memoryLimit on, which the facts of some 10,000 Services reach, it collects more often instead of growing further.
const (
	gcPercent   = 400
	memoryLimit = 32 << 20
)

// Run checks everything that the options name and prints to out as it goes.
func Run(ctx context.Context, o Options, in io.Reader, out io.Writer) (Outcome, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	var result Outcome
	c, err := readConfig(o.Config, o.Dir)
	if err != nil {
		return result, &UsageError{err}
	}

	o = o.with(c)
	result.FailOn = o.FailOn
	r := &run{
		config: c,
		in:     in,
		fix:    o.Fix,
		out:    out,
	}

	if r.options, err = o.checkOptions(); err != nil {
		return result, &UsageError{err}
	}
	if r.options.Images, err = o.images(ctx); err != nil {
		return result, &UsageError{err}
	}

	if r.rules, err = c.apply(rules.All()); err != nil {
		return result, &UsageError{err}
	}
	if r.checker, err = check.New(r.rules, r.options); err != nil {
		return result, err
	}
	if o.Fix == FixDiff {
		out = io.Discard
	}

	printer := o.printer(out)
	r.emit = result.tell(printer)
	if err := r.all(ctx, o); err != nil {
		return result, err
	}

	return result, printer.Close()
}

// all checks everything that the options name.
func (r *run) all(ctx context.Context, o Options) error {
	if o.Cluster {
		if err := r.cluster(ctx, o.Kubectl); err != nil {
			return err
		}
	} else if len(o.Paths) == 0 {
		o.Paths = []string{"-"}
	}
	for _, path := range o.Paths {
		if err := r.path(ctx, path); err != nil {
			return err
		}
	}
	return r.checker.Finish(r.emit)
}

// with returns the options with empty fields filled from the configuration and the defaults.
func (o Options) with(c *config) Options {
	o.Kubernetes = cmp.Or(o.Kubernetes, c.KubernetesVersion, version.KubernetesMinor())
	o.FailOn = cmp.Or(o.FailOn, c.FailOn, string(check.Error))
	o.Output = cmp.Or(o.Output, "text")
	o.Offline = o.Offline || c.Offline
	if len(o.Windows) == 0 {
		o.Windows = c.WindowsVersions
	}
	if len(o.Kubectl) == 0 {
		o.Kubectl = []string{"kubectl"}
	}
	return o
}

func (o Options) checkOptions() (check.Options, error) {
	var co check.Options
	minor, ok := strings.CutPrefix(strings.TrimPrefix(o.Kubernetes, "v"), "1.")
	minor, _, _ = strings.Cut(minor, ".")
	n, err := strconv.Atoi(minor)
	if !ok || err != nil || n < 14 {
		return co, fmt.Errorf("kubernetes version %q: want 1.14 or later, for example %s", o.Kubernetes, version.KubernetesMinor())
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
	if !slices.Contains([]string{"", FixWrite, FixDiff}, o.Fix) {
		return co, fmt.Errorf("fix %q: want %s or %s", o.Fix, FixWrite, FixDiff)
	}
	if !slices.Contains(Outputs(), o.Output) {
		return co, fmt.Errorf("output %q: want one of %s", o.Output, strings.Join(Outputs(), ", "))
	}

	return co, o.checkInput()
}

// images returns what looks images up, nil if images are judged by their names.
func (o Options) images(ctx context.Context) (check.Images, error) {
	if o.Offline && len(o.ImageLayouts) == 0 {
		return nil, nil // documented
	}
	return images.New(ctx, images.Options{Layouts: o.ImageLayouts, Offline: o.Offline})
}

func (o Options) checkInput() error {
	switch {
	case o.Cluster && (len(o.Paths) > 0 || o.Fix != ""):
		return errors.New("cluster: it is read through kubectl; files cannot be checked or changed at the same time")
	case o.Fix != "" && (len(o.Paths) == 0 || slices.Contains(o.Paths, "-")):
		return errors.New("fix: standard input is no file that could be changed; name files or folders")
	}
	return nil
}

// LongTerm lists the catalogue's long-term releases on which Kubernetes has nodes, which are the default of
// Options.Windows.
func LongTerm() []string {
	return slices.DeleteFunc(winver.Names(), func(n string) bool {
		b, err := winver.Lookup(n)
		return err != nil || !strings.HasPrefix(n, "ltsc") || !b.Supports(winver.HNSv2)
	})
}
