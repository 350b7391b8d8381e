package rules_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/winver"
)

// TestFixtures runs every rule on testdata/<id>/{pass,fail}/*.yaml. In a fail fixture the line of each finding of the
// rule ends in "# want: <id>"; a pass fixture has none. Other rules' findings are not looked at.
func TestFixtures(t *testing.T) {
	known := map[string]bool{}
	for _, rule := range rules.All() {
		if rule.Target == check.OnProgram { // package programs has their tests
			continue
		}

		known[rule.ID] = true
		for _, side := range []string{"pass", "fail"} {
			files, err := filepath.Glob(filepath.Join("testdata", rule.ID, side, "*.yaml"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s has no fixture in testdata/%s/%s", rule.ID, rule.ID, side)
			}
			for _, file := range files {
				t.Run(rule.ID+"/"+side+"/"+filepath.Base(file),
					func(t *testing.T) { fixture(t, rule, file, side == "fail") })
			}
		}
	}

	all, err := filepath.Glob("testdata/*/*/*")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range all {
		parts := strings.Split(filepath.ToSlash(file), "/")
		if !known[parts[1]] || (parts[2] != "pass" && parts[2] != "fail") || filepath.Ext(file) != ".yaml" {
			t.Errorf("no test reads %s", file)
		}
	}
}

// registry is what a fixture says of images.
type registry map[string][]check.Platform

func (r registry) Platforms(_ context.Context, image string) ([]check.Platform, error) {
	return r[image], nil
}

// platform reads the form that messages have, with a comma: windows/amd64,10.0.20348.1.
func platform(t *testing.T, text string) check.Platform {
	t.Helper()
	system, version, _ := strings.Cut(text, ",")
	name, arch, _ := strings.Cut(system, "/")
	p := check.Platform{OS: check.OS(name), Architecture: arch}
	if version != "" {
		v, err := winver.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		p.Version = v
	}
	return p
}

// options reads what a fixture says in its first lines: "# kubernetes: 23", "# windows: ltsc2019 ltsc2022",
// "# image: example.com/app:1 linux/arm64 windows/amd64,10.0.20348.1" (what a registry says of it).
func options(t *testing.T, text string) check.Options {
	t.Helper()
	o := check.Options{Kubernetes: 37}
	images := registry{}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "# kubernetes: "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(v))
			if err != nil {
				t.Fatal(err)
			}
			o.Kubernetes = n
		} else if v, ok := strings.CutPrefix(line, "# image: "); ok {
			fields := strings.Fields(v)
			for _, one := range fields[1:] {
				images[fields[0]] = append(images[fields[0]], platform(t, one))
			}
			o.Images = images
		} else if v, ok := strings.CutPrefix(line, "# windows: "); ok {
			o.Chosen = true
			for name := range strings.FieldsSeq(v) {
				b, err := winver.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				o.Windows = append(o.Windows, b)
			}
		}
	}

	if !o.Chosen {
		o.Windows = winver.All()
	}
	return o
}

func fixture(t *testing.T, rule check.Rule, file string, fail bool) {
	t.Helper()
	id := rule.ID
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	c, err := check.New([]check.Rule{rule}, options(t, string(text)))
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
	emit := func(r check.Result) error {
		for _, f := range r.Faults {
			t.Errorf("line %d: %s", f.Line, f.Message)
		}
		for _, f := range r.Findings {
			got = append(got, fmt.Sprint("line ", f.Line))
		}
		judged += r.Pods[check.Windows] + r.Pods[check.Either]
		return nil
	}

	if err := c.Run(t.Context(), file, strings.NewReader(string(text)), emit); err != nil {
		t.Fatal(err)
	}
	if err := c.Finish(emit); err != nil {
		t.Fatal(err)
	}
	if judged == 0 && rule.Target != check.OnObject {
		t.Error("the fixture has no pod that is judged")
	}

	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
