package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/winver"
)

// TestFixtures holds every rule against testdata/<id>/{pass,fail}/*.yaml. In a fail fixture the line of each finding of
// the rule ends in "# want: <id>"; a pass fixture has none. Other rules' findings are not looked at.
func TestFixtures(t *testing.T) {
	known := map[string]bool{}
	for _, rule := range rules.All() {
		known[rule.ID] = true
		c, err := check.New([]check.Rule{rule}, check.Options{Kubernetes: 36, Windows: winver.All()})
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []string{"pass", "fail"} {
			files, err := filepath.Glob(filepath.Join("testdata", rule.ID, side, "*.yaml"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s has no fixture in testdata/%s/%s", rule.ID, rule.ID, side)
			}
			for _, file := range files {
				t.Run(rule.ID+"/"+side+"/"+filepath.Base(file), func(t *testing.T) { fixture(t, c, rule.ID, file, side == "fail") })
			}
		}
	}
	all, err := filepath.Glob("testdata/*/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		parts := strings.Split(filepath.ToSlash(file), "/")
		if !known[parts[1]] || parts[2] != "pass" && parts[2] != "fail" || filepath.Ext(file) != ".yaml" {
			t.Errorf("no test reads %s", file)
		}
	}
}

func fixture(t *testing.T, c *check.Checker, id, file string, fail bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i, line := range strings.Split(string(text), "\n") {
		if _, ids, ok := strings.Cut(line, "# want: "); ok && slices.Contains(strings.Fields(ids), id) {
			want = append(want, fmt.Sprint("line ", i+1))
		}
	}
	if fail != (len(want) > 0) {
		t.Fatalf("%d lines want %s", len(want), id)
	}
	judged := 0
	err = c.Run(t.Context(), file, strings.NewReader(string(text)), func(r check.Result) error {
		for _, f := range r.Faults {
			t.Errorf("line %d: %s", f.Line, f.Message)
		}
		for _, f := range r.Findings {
			got = append(got, fmt.Sprint("line ", f.Line))
		}
		judged += r.Pods[check.Windows] + r.Pods[check.Either]
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if judged == 0 {
		t.Error("the fixture has no pod that is judged")
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
