// Command rung runs rungs of the tests (pure, kernel, wine, cluster, conformance, machines, field) in order, those that
// are joined by "+" side by side; it goes on after one that failed. It prints a line for each package, what a failed
// test printed, and what was skipped and why. At the very end it prints, for each failed test, only the reasons. A rung
// that ran no test, or skipped all of them, fails. A few failed tests are tried once more, and are named as flaky if
// they pass then. The slowest are named with their time.
//
// How each rung ended is written below .cache/results (package kept); `go run ./hack/results keep RUNG` keeps it.
//
// MULLION_FIELD names the tests that rung field is to run alone, without TestField and with commas between them, so
// that its hours can be taken in parts: MULLION_FIELD=Docker,Containerd.
//
// MULLION_TESTS_END, in seconds since 1970, is when all has to be done: a test that still runs then is ended and named,
// and what was not begun has failed.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"mullion.dev/mullion/hack/kept"
	"mullion.dev/mullion/internal/cluster/layout"
)

// event is one line of `go test -json` (cmd/test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
	ImportPath, FailedBuild       string // of a failed build: in its own output and in the last event of its package
}

type result struct {
	rung  string
	names []string // of the tests of rung field that run alone

	mu                      sync.Mutex // held while a lane's word is taken
	passed, failed, skipped int
	flaky                   int // passed at their second try, and stand in failures no more
	took                    time.Duration
	output                  map[string]*strings.Builder // by package and test
	builds                  map[string]string           // what failed builds printed
	skips                   []string
	slow                    []slowTest
	failures                []failure
	failedIn                map[string]bool // packages with a failed test
	running                 map[string]bool // by package and test

	tests []kept.Test // that have ended
}

func newResult(rung string) *result {
	return &result{
		rung:     rung,
		names:    namedTests(rung),
		output:   map[string]*strings.Builder{},
		builds:   map[string]string{},
		failedIn: map[string]bool{},
		running:  map[string]bool{},
	}
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: rung RUNG[+RUNG]...; the rungs are "+strings.Join(rungs(), ", "))
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	end, err := endOf(os.Getenv("MULLION_TESTS_END"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}

	ok := runAll(ctx, os.Args[1:], end, os.Stdout)
	stop()
	if !ok {
		os.Exit(1)
	}
}

// endOf reads a time in seconds since 1970; without one the time is zero.
func endOf(seconds string) (time.Time, error) {
	if seconds == "" {
		return time.Time{}, nil
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("MULLION_TESTS_END is %q, not a number of seconds since 1970", seconds)
	}
	return time.Unix(n, 0), nil
}

// runAll runs stages in order: a rung each, or several, joined by "+", which run side by side.
func runAll(ctx context.Context, stages []string, end time.Time, w io.Writer) bool {
	w = &lockedWriter{w: w}
	var failures []failure
	var errs, times []string
	flaky := 0
	began := time.Now()
	for _, stage := range stages {
		names := strings.Split(stage, "+")
		results, failed := make([]*result, len(names)), make([]error, len(names))
		var running sync.WaitGroup
		for i, name := range names {
			results[i] = newResult(name)
			running.Go(func() { failed[i] = results[i].keep(ctx, end, w) })
		}

		running.Wait()
		for i, r := range results {
			if failed[i] != nil {
				errs = append(errs, fmt.Sprintf("rung %s: %v", r.rung, failed[i]))
			}
			failures = append(failures, r.failures...)
			flaky += r.flaky
			times = append(times, fmt.Sprintf("%s %.0fs", r.rung, r.took.Seconds()))
		}
	}

	fmt.Fprintf(w, "== all rungs took %.0fs: %s\n", time.Since(began).Seconds(), strings.Join(times, ", "))
	if flaky > maxFlaky {
		errs = append(errs, fmt.Sprintf("%d tests passed at their second try only; a run with more than %d of them fails",
			flaky, maxFlaky))
	}
	if len(errs) == 0 {
		return true
	}

	fmt.Fprintln(w, "== what failed")
	for _, f := range withReasons(failures) {
		f.print(w)
	}

	fmt.Fprintln(w, strings.Join(errs, "\n"))
	return false
}

// lockedWriter lets rungs that run side by side write whole lines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// rungs returns the rungs, from the one that needs least. Field, the long tests, is no part of `make test`.
func rungs() []string {
	return []string{"pure", "kernel", "wine", "cluster", "conformance", "machines", "field"}
}

// clusters returns the rungs whose tests bring clusters up on this machine.
func clusters() []string { return []string{"cluster", "conformance", "field"} }

// leastTime is what a rung needs to be worth a beginning.
const leastTime = 30 * time.Second

// limit returns the time that a package of the rung may take: some three times what it takes on two cores. A test that
// hangs then fails and is named. All machines, emulated, take hours.
func limit(rung string) time.Duration {
	switch rung {
	case "machines":
		return 16 * time.Hour
	case "cluster":
		return 50 * time.Minute
	case "field":
		return 3 * time.Hour
	}
	return 25 * time.Minute
}

// sideBySide returns how many tests of a package may run at a time, of those that say that they may run beside others
// (testing.T.Parallel). A test of a cluster waits for much of its time, so there are more of them than processors.
func sideBySide(rung string) int {
	processors := runtime.GOMAXPROCS(0)
	if slices.Contains(clusters(), rung) {
		return processors + max(processors/2, 1)
	}
	return processors
}

// timeFor returns the time that a package of the rung may take, when all has to be done by end. It is zero if too
// little is left.
func timeFor(rung string, now, end time.Time) time.Duration {
	if end.IsZero() {
		return limit(rung)
	}
	left := end.Sub(now).Truncate(time.Second)
	if left < leastTime {
		return 0
	}
	return min(limit(rung), left)
}

// clear takes down the clusters of killed tests, if the rung brings clusters up.
func (r *result) clear(ctx context.Context, w io.Writer) error {
	if !slices.Contains(clusters(), r.rung) {
		return nil
	}
	return takeDownLeftovers(ctx, layout.RunRoot, w)
}

func (r *result) run(ctx context.Context, end time.Time, w io.Writer) error {
	if !slices.Contains(rungs(), r.rung) {
		return fmt.Errorf("no such rung; there are %s", strings.Join(rungs(), ", "))
	}
	limit := timeFor(r.rung, time.Now(), end)
	if limit == 0 {
		return errors.New("not run: the time for all tests is over (MULLION_TESTS_END)")
	}

	// vet would analyse all of Kubernetes for its printf check; `make lint` runs it where it matters
	args := []string{"test", "-json", "-count=1", "-vet=off", "-timeout=" + limit.String()}
	packages := []string{"./..."}
	if r.rung != "pure" {
		var err error
		if packages, err = packagesOf(r.rung, r.names); err != nil {
			return err
		}
		if len(packages) == 0 {
			return fmt.Errorf("no package has tests of this rung")
		}
		args = append(args, "-p=1", "-tags="+strings.Join(tagsOf(r.rung), ","), chosen(r.rung, r.names),
			"-parallel="+strconv.Itoa(sideBySide(r.rung)))
	}

	fmt.Fprintf(w, "== rung %s\n", r.rung)
	if err := r.clear(ctx, w); err != nil {
		return err
	}

	started := time.Now()
	if !end.IsZero() {
		var done context.CancelFunc
		ctx, done = context.WithDeadline(ctx, end)
		defer done()
	}

	waitErr := r.goTest(ctx, args, lanesOf(r.rung, packages), w)
	r.took = time.Since(started)
	r.summary(w, r.took)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the time for all tests is over (MULLION_TESTS_END); running: %s",
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(r.running)), ", "), "no test, tests were compiled"))
	case waitErr != nil && r.secondTry(ctx, args, w):
	case waitErr != nil:
		return fmt.Errorf("go test: %w", waitErr)
	case r.passed == 0:
		return fmt.Errorf("every test was skipped, or there was none")
	}

	return nil
}

// endable runs go in a group of processes, so that ctx ends the tests, too, which go does not.
func endable(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		signal := syscall.SIGINT
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			signal = syscall.SIGQUIT // a Go program then says what it was doing
		}
		return syscall.Kill(-cmd.Process.Pid, signal)
	}
	cmd.WaitDelay = time.Minute
	return cmd
}

// fieldTests are the names of the tests of rung field. They stand among those of other rungs, whose helpers they use.
const fieldTests = "^TestField"

// tagsOf returns the build tags of a rung's tests. Those of rung pure have none.
func tagsOf(rung string) []string {
	switch rung {
	case "pure":
		return nil
	case "field":
		return []string{"kernel", "wine", "cluster", "conformance"}
	}
	return []string{rung}
}

// namedTests are the tests of rung field that are to run; none: all of them.
func namedTests(rung string) []string {
	if rung != "field" {
		return nil
	}
	return strings.FieldsFunc(os.Getenv("MULLION_FIELD"), func(r rune) bool { return r == ',' || r == ' ' })
}

// chosen returns the flag of go test that chooses the rung's tests among those with its tags, or those with the names.
func chosen(rung string, names []string) string {
	switch {
	case rung != "field":
		return "-skip=" + fieldTests
	case len(names) > 0:
		return "-run=" + fieldTests + "(" + strings.Join(names, "|") + ")$"
	}
	return "-run=" + fieldTests
}

// packagesOf lists the packages with tests of a rung with build tags, or of rung field those with the named tests. A
// name that no test has is an error.
func packagesOf(rung string, names []string) ([]string, error) {
	var packages, found []string
	err := testFiles(".", func(path string, text []byte) {
		if !slices.ContainsFunc(tagsOf(rung), func(tag string) bool { return hasTag(text, tag) }) {
			return
		}
		here := names
		if rung == "field" {
			here = fieldTestsIn(text, names)
		}
		if rung != "field" || len(here) > 0 {
			packages = append(packages, "./"+filepath.Dir(path))
		}
		found = append(found, here...)
	})

	for _, name := range names {
		if !slices.Contains(found, name) {
			err = errors.Join(err, fmt.Errorf("rung %s has no TestField%s", rung, name))
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages), err
}

// fieldTestsIn returns the tests of rung field in a file, without TestField, those of names if there are names.
func fieldTestsIn(text []byte, names []string) []string {
	var tests []string
	for _, m := range fieldTest.FindAllSubmatch(text, -1) {
		if name := string(m[1]); len(names) == 0 || slices.Contains(names, name) {
			tests = append(tests, name)
		}
	}
	return tests
}

// fieldTest is how a test of rung field begins in its file, and its name after TestField.
var fieldTest = regexp.MustCompile(`(?m)^func ` + strings.TrimPrefix(fieldTests, "^") + `(\w*)\(`)

// testFiles calls look with each file of tests below a folder, but for those of other modules, which go test of this
// one does not run.
func testFiles(folder string, look func(path string, text []byte)) error {
	return filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "upstream", "testdata"}, d.Name()) {
			return filepath.SkipDir
		}

		if d.IsDir() && path != folder {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return filepath.SkipDir
			}
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}

		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		look(path, text)
		return nil
	})
}

// hasTag reports whether the build constraint of a file names a tag.
func hasTag(text []byte, tag string) bool {
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "package ") {
			return false
		}
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" &|()\n", r) })
		if strings.HasPrefix(line, "//go:build") && slices.Contains(words, tag) {
			return true
		}
	}

	return false
}

// reason returns what a test said when it skipped.
func reason(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			said = append(said, line)
		}
	}
	return strings.Join(said, " ")
}

func (r *result) summary(w io.Writer, took time.Duration) {
	for _, s := range r.skips {
		fmt.Fprintf(w, "skipped %s\n", s)
	}
	for _, s := range slowest(r.slow) {
		fmt.Fprintf(w, "slow %6.0fs %s\n", s.took.Seconds(), s.name)
	}
	fmt.Fprintf(w, "== rung %s took %.0fs\n%s: %d passed, %d failed, %d skipped\n", r.rung, took.Seconds(), r.rung,
		r.passed, r.failed, r.skipped)
}
