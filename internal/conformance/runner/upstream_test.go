package runner

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/conformance/suite"
)

// TestSelectionsOfUpstream counts the specs that the suites select of the pinned tests, so that renamed specs in a new
// version are noticed.
func TestSelectionsOfUpstream(t *testing.T) {
	const program = "../../../bin/e2e/e2e.test"
	if _, err := os.Stat(program); err != nil {
		t.Skip("no e2e tests in bin/e2e: `make e2e` builds them")
	}
	if testing.Short() {
		t.Skip("takes half a minute")
	}

	all, err := List(t.Context(), program, suite.Suite{Focus: "."}) // once: it takes e2e.test some seconds
	if err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]int{"parallel": 493, "serial": 70, "hpa": 11, "windows": 27, "smoke": -1} {
		s, err := suite.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if want < 0 {
			want = strings.Count(s.Focus, "$|") + 1
		}

		focus := regexp.MustCompile(s.Focus)
		skip := regexp.MustCompile(s.Skip)
		got := 0
		for _, spec := range all {
			if text := "Kubernetes e2e suite " + spec; focus.MatchString(text) &&
				(s.Skip == "" || !skip.MatchString(text)) {
				got++
			}
		}

		if got != want {
			t.Errorf("suite %s selects %d specs of %d, want %d", name, got, len(all), want)
		}
	}
}
