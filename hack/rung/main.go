// Command rung runs one rung of the tests (pure, kernel, wine, cluster) and prints a line for each package, what failed
// in full, and what was skipped and why. A rung that ran no test, or skipped all of them, fails.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json` (cmd/test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
	ImportPath                    string
}

type result struct {
	passed, failed, skipped int
	output                  map[string]*strings.Builder // by package and test
	skips                   []string
	failures                []string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: rung pure|kernel|wine|cluster")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "rung %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rung string, w io.Writer) error {
	tag := map[string]string{"pure": "", "kernel": "kernel", "wine": "wine", "cluster": "e2e"}
	t, ok := tag[rung]
	if !ok {
		return fmt.Errorf("no such rung")
	}
	// vet would analyse all of Kubernetes for the facts its printf check wants; `make lint` runs it where it matters
	args := []string{"test", "-json", "-count=1", "-vet=off", "-timeout=25m"}
	packages := []string{"./..."}
	if t != "" {
		var err error
		if packages, err = tagged(t); err != nil {
			return err
		}
		if len(packages) == 0 {
			return fmt.Errorf("no package has tests of this rung")
		}
		args = append(args, "-p=1", "-tags="+t)
	}
	fmt.Fprintf(w, "== rung %s\n", rung)
	started := time.Now()
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := result{output: map[string]*strings.Builder{}}
	r.read(out, w)
	waitErr := cmd.Wait()
	r.summary(w, rung, time.Since(started))
	switch {
	case waitErr != nil:
		return fmt.Errorf("go test: %w", waitErr)
	case r.passed == 0:
		return fmt.Errorf("every test was skipped, or there was none")
	}
	return nil
}

// tagged lists the packages with test files that carry the build tag.
func tagged(tag string) ([]string, error) {
	var packages []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || path == "bin" || path == "upstream") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "package ") {
				break
			}
			if strings.HasPrefix(line, "//go:build") && slices.Contains(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" &|()\n", r) }), tag) {
				packages = append(packages, "./"+filepath.Dir(path))
			}
		}
		return nil
	})
	slices.Sort(packages)
	return slices.Compact(packages), err
}

func (r *result) read(in io.Reader, w io.Writer) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(w, lines.Text())
			continue
		}
		key := e.Package + " " + e.Test
		if r.output[key] == nil {
			r.output[key] = &strings.Builder{}
		}
		switch e.Action {
		case "output":
			r.output[key].WriteString(e.Output)
		case "build-output":
			fmt.Fprint(w, e.Output)
		case "pass", "fail", "skip":
			r.ended(e, key, w)
		}
	}
}

func (r *result) ended(e event, key string, w io.Writer) {
	text := r.output[key].String()
	if e.Test == "" {
		if e.Action != "skip" { // a package without tests
			fmt.Fprintf(w, "%-4s %-60s %7.1fs\n", map[string]string{"pass": "ok", "fail": "FAIL"}[e.Action], e.Package, e.Elapsed)
		}
		if e.Action == "fail" {
			fmt.Fprint(w, text)
		}
		return
	}
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		r.skips = append(r.skips, fmt.Sprintf("%s: %s", e.Test, reason(text)))
	case "fail":
		r.failed++
		r.failures = append(r.failures, e.Package+" "+e.Test)
		fmt.Fprint(w, text)
	}
}

// reason is what a test said when it skipped.
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

func (r *result) summary(w io.Writer, rung string, took time.Duration) {
	for _, s := range r.skips {
		fmt.Fprintf(w, "skipped %s\n", s)
	}
	for _, f := range r.failures {
		fmt.Fprintf(w, "failed %s\n", f)
	}
	fmt.Fprintf(w, "== rung %s took %.0fs\n%s: %d passed, %d failed, %d skipped\n", rung, took.Seconds(), rung, r.passed, r.failed, r.skipped)
}
