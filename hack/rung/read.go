package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// read takes what go test -json prints, to its end.
func (r *result) read(in io.Reader, w io.Writer) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)

	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(w, lines.Text())
			continue
		}
		r.hear(e, w)
	}
}

// hear takes what one of the lanes says.
func (r *result) hear(e event, w io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := e.Package + " " + e.Test
	if r.output[key] == nil {
		r.output[key] = &strings.Builder{}
	}

	switch e.Action {
	case "run":
		r.running[key] = true
	case "output":
		r.output[key].WriteString(e.Output)
	case "build-output":
		r.builds[e.ImportPath] += e.Output
		fmt.Fprint(w, e.Output)
	case "pass", "fail", "skip":
		r.ended(e, key, w)
	}
}

func (r *result) ended(e event, key string, w io.Writer) {
	text := r.output[key].String()
	delete(r.running, key)
	if e.Test == "" {
		if e.Action != "skip" { // a package without tests
			fmt.Fprintf(w, "%-4s %-60s %7.1fs\n", map[string]string{"pass": "ok", "fail": "FAIL"}[e.Action], e.Package,
				e.Elapsed)
		}

		if e.Action == "fail" {
			fmt.Fprint(w, text)
			r.cutShort(e.Package, w)
			if !r.failedIn[e.Package] {
				r.failures = append(r.failures, failure{
					rung:    r.rung,
					pkg:     e.Package,
					reasons: lastWords(r.builds[e.FailedBuild] + text),
				})
			}
		}

		return
	}

	if took := time.Duration(e.Elapsed * float64(time.Second)); took >= slowFrom {
		r.slow = append(r.slow, slowTest{name: e.Test, took: took})
	}

	r.tests = append(r.tests, testOf(e, text))
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		r.skips = append(r.skips, fmt.Sprintf("%s: %s", e.Test, reason(text)))

	case "fail":
		r.failed++
		r.failedIn[e.Package] = true
		r.failures = append(r.failures, failure{
			rung:    r.rung,
			pkg:     e.Package,
			test:    e.Test,
			reasons: reasons(e.Package, text),

			panicked: panicked(text),
			took:     time.Duration(e.Elapsed * float64(time.Second)),
		})
		fmt.Fprint(w, text)
	}
}

// cutShort records, as failed, the tests of a package that still ran when it ended: its time was over, or one of them
// ended the process. go test says of none of them that it has failed.
func (r *result) cutShort(pkg string, w io.Writer) {
	for _, key := range slices.Sorted(maps.Keys(r.running)) {
		test, ok := strings.CutPrefix(key, pkg+" ")
		if !ok {
			continue
		}

		text := r.output[key].String()
		delete(r.running, key)
		fmt.Fprint(w, text)
		r.failed++
		r.failedIn[pkg] = true
		r.failures = append(r.failures, failure{
			rung:    r.rung,
			pkg:     pkg,
			test:    test,
			reasons: append([]string{"    it ran when its package ended"}, reasons(pkg, text)...),

			panicked: true,
		})
	}
}
