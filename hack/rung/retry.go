package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// maxTries is how many failed tests of a rung are tried once more; more of them are no matter of chance.
const maxTries = 3

// longestTry is how long a test may have taken that is tried once more.
const longestTry = 5 * time.Minute

// secondTry runs a few failed tests once more, each by itself, and reports whether all passed then. They are named as
// flaky, with what they said when they failed. After a panic, a failed build or a test that took long there is no
// second try: other tests of the package may never have run.
func (r *result) secondTry(ctx context.Context, args []string, w io.Writer) bool {
	var failed []failure
	for _, f := range r.failures {
		if f.test == "" || f.panicked || f.took > longestTry {
			return false
		}
		if !strings.Contains(f.test, "/") {
			failed = append(failed, f)
		}
	}
	if len(failed) == 0 || len(failed) > maxTries {
		return false
	}
	for _, f := range failed {
		again := append(slices.Clone(args), "-run=^"+f.test+"$", f.pkg)
		out, err := exec.CommandContext(ctx, "go", again...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), `"Action":"pass"`) {
			fmt.Fprintf(w, "%s failed at its second try too: %v\n", f.test, err)
			return false
		}
	}
	for _, f := range withReasons(r.failures) {
		fmt.Fprint(w, "FLAKY, passed at the second try: ")
		f.print(w)
	}
	r.passed += len(failed)
	r.failed = 0
	r.failures = nil
	fmt.Fprintf(w, "%s: %d passed, 0 failed, %d skipped\n", r.rung, r.passed, r.skipped)
	return true
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
