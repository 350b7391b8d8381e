package main

import (
	"regexp"
	"strings"

	"mullion.dev/mullion/internal/base/testrun"
)

// final says why a failed test has no second try, "" if it has one. The test says it (testrun.Once), or one that it is
// a part of.
func (r *result) final(f failure) string {
	for _, output := range r.outputs(f) {
		if _, why, ok := strings.Cut(output, testrun.OnceMark); ok {
			why, _, _ = strings.Cut(why, "\n")
			return why
		}
	}
	return ""
}

var seed = regexp.MustCompile(regexp.QuoteMeta(testrun.SeedMark) + `(\d+)`)

// seedOf returns the seed of a failed test that is random, or of a part of it, "" for others.
func (r *result) seedOf(f failure) string {
	outputs := r.outputs(f)
	for key, output := range r.output {
		if strings.HasPrefix(key, f.pkg+" "+f.test+"/") {
			outputs = append(outputs, output.String())
		}
	}

	for _, output := range outputs {
		if m := seed.FindStringSubmatch(output); m != nil {
			return m[1]
		}
	}
	return ""
}

// outputs returns what a failed test has printed, and what those have of which it is a part.
func (r *result) outputs(f failure) []string {
	var found []string
	for test := f.test; ; {
		if out := r.output[f.pkg+" "+test]; out != nil {
			found = append(found, out.String())
		}
		end := strings.LastIndexByte(test, '/')
		if end < 0 {
			return found
		}
		test = test[:end]
	}
}
