package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/hack/kept"
	state "mullion.dev/mullion/internal/conformance/result"
)

// keep runs the rung and writes how it ended. A result that cannot be written fails nothing; the output says it.
func (r *result) keep(ctx context.Context, end time.Time, w io.Writer) error {
	of := kept.Result{
		Suite:   r.rung,
		Began:   time.Now().UTC().Truncate(time.Second),
		Machine: kept.ThisMachine(ctx),
		Args:    append([]string{r.rung}, r.names...),
	}
	of.Commit, of.Changed = kept.Commit(ctx, ".")

	load := kept.WatchLoad()
	failed := r.run(ctx, end, w)
	of.Load = load()
	if r.took == 0 {
		return failed // nothing ran
	}

	of.Seconds = r.took.Seconds()
	of.Tests = r.tests
	if failed != nil {
		of.Incomplete = r.incomplete()
	}

	switch path, err := kept.Write(kept.Fresh, of); {
	case err != nil:
		fmt.Fprintf(w, "the result of rung %s is not kept: %v\n", r.rung, err)
	default:
		fmt.Fprintf(w, "the result of rung %s is in %s\n", r.rung, path)
	}

	return failed
}

// incomplete says what did not come to its end: tests that still ran, and packages that failed without a failed test.
func (r *result) incomplete() string {
	var said []string
	for test := range r.running {
		said = append(said, "running: "+test)
	}
	for _, f := range r.failures {
		if f.test == "" {
			said = append(said, "failed as a whole: "+f.pkg)
		}
	}

	slices.Sort(said)
	return strings.Join(said, "; ")
}

// testOf makes the record of a test that has ended.
func testOf(e event, output string) kept.Test {
	t := kept.Test{
		Name:     strings.TrimPrefix(e.Package, module) + " " + e.Test,
		Attempts: 1,
		Seconds:  e.Elapsed,
	}

	switch e.Action {
	case "pass":
		t.State = state.Passed
	case "skip":
		t.State = state.Skipped
		t.Reason = reason(output)
	case "fail":
		t.State = state.Failed
		t.Reason = strings.Join(reasons(e.Package, output), "\n")
	}

	return t
}

// markFlaky says of the tests that failed that they passed at their second try.
func (r *result) markFlaky() {
	for i, t := range r.tests {
		if t.State == state.Failed {
			r.tests[i].State = state.Flaky
			r.tests[i].Attempts = 2
		}
	}
}
