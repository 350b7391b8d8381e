package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

const (
	// maxTries is how many failed tests of a rung are tried once more; more of them are no matter of chance.
	maxTries = 3
	// maxFlaky is how many tests of a run may have passed at their second try. It is told which others have, too.
	maxFlaky = 1
)

// longestTry is how long a test may have taken that is tried once more.
const longestTry = 5 * time.Minute

// secondTry runs a few failed tests once more, each by itself, and reports whether all passed then. They are named as
// flaky, with what they said when they failed. There is none for a rung in which a test failed that says so (final). A
// random test has its seed again. After a panic, a failed build or a test that took long there is no
// second try: other tests of the package may never have run. Of a long test whose parts failed, and it by nothing else,
// only the parts are tried.
func (r *result) secondTry(ctx context.Context, args []string, w io.Writer) bool {
	for _, f := range r.failures {
		if why := r.final(f); why != "" {
			fmt.Fprintf(w, "no second try of %s: %s\n", f.test, why)
			return false
		}
	}

	failed := toTry(r.failures)
	if len(failed) == 0 || len(failed) > maxTries {
		return false
	}

	for _, f := range failed {
		again := append(slices.Clone(args), "-run="+pattern(f.test), f.pkg)
		cmd := exec.CommandContext(ctx, "go", again...)
		if seed := r.seedOf(f); seed != "" {
			cmd.Env = append(os.Environ(), testrun.SeedVariable+"="+seed) //nolint:forbidigo // a program of a main package
		}

		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), `"Action":"pass"`) {
			fmt.Fprintf(w, "%s failed at its second try too: %v\n", f.test, err)
			return false
		}
	}

	for _, f := range withReasons(r.failures) {
		fmt.Fprint(w, "FLAKY, passed at the second try: ")
		f.print(w)
	}

	r.markFlaky()
	r.flaky = len(failed)
	r.passed += r.failed
	r.failed = 0
	r.failures = nil
	fmt.Fprintf(w, "%s: %d passed, %d of them not before their second try, 0 failed, %d skipped\n", r.rung, r.passed,
		len(failed), r.skipped)

	return true
}

// toTry gives the failed tests to try once more, none where a second try says nothing.
func toTry(failures []failure) []failure {
	reasoned := withReasons(failures)
	var out []failure
	for _, f := range failures {
		switch long := f.took > longestTry; {
		case f.test == "" || f.panicked:
			return nil
		case long && slices.ContainsFunc(reasoned, func(g failure) bool { return g.pkg == f.pkg && g.test == f.test }):
			return nil // by itself, not by a part
		case !long && !slices.ContainsFunc(out, func(g failure) bool { return g.holds(f) }):
			out = slices.DeleteFunc(out, f.holds)
			out = append(out, f)
		}
	}

	return out
}

// holds reports whether g is a part of f.
func (f failure) holds(g failure) bool {
	return f.pkg == g.pkg && strings.HasPrefix(g.test, f.test+"/")
}

// pattern returns what go test's -run selects a test by, part by part.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// panicked reports whether a test's output has a panic in it, of the test's own or of its time being over.
func panicked(output string) bool {
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return true
		}
	}
	return false
}
