package result

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
)

func TestNames(t *testing.T) {
	s := Spec{Name: `[sig-node] Probing container should be restarted with a exec "cat /tmp/health" liveness probe [NodeConformance] [Conformance]`}
	if s.Area() != "sig-node" || s.ShortName() != `Probing container should be restarted with a exec "cat /tmp/health" liveness probe` {
		t.Errorf("%s, %s", s.Area(), s.ShortName())
	}
	if a := (Spec{Name: "no area"}).Area(); a != "other" {
		t.Errorf("area %q", a)
	}
}

func run(id string, planned ...string) Run {
	return Run{
		ID:      id,
		Suite:   "parallel",
		Planned: planned,
		Start:   time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		End:     Running,
	}
}

// TestKilled writes results, breaks off in the middle of a line as a machine that stops does, and goes on.
func TestKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	dir := t.TempDir()
	f, err := Create(dir, run("20261121T090000Z", "a", "b", "c", "d"))
	if err != nil {
		t.Fatal(err)
	}

	for i, s := range []Spec{{Name: "a", State: Passed}, {Name: "b", State: Cut}} {
		s.Number = i + 1
		if err := f.Add(s, "", ""); err != nil {
			t.Fatal(err)
		}
	}

	if err := f.Add(Spec{
		Number:  3,
		Name:    "c",
		State:   Failed,
		Message: "no\nluck",
	}, "output\n", "kubelet\n"); err != nil {
		t.Fatal(err)
	}

	if _, err := f.specs.WriteString(`{"number":4,"name":"d","sta`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	f, r, err := Reopen(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Done(); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("done: %v, want a and c: b was cut, d is half a line", got)
	}

	if err := f.Add(Spec{
		Number: 4,
		Name:   "b",
		State:  Flaky,
	}, "", ""); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	r, err = Load(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[State]int{Passed: 1, Flaky: 1, Failed: 1, NotRun: 1}
	if diff := cmp.Diff(want, Count(r.All())); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}

	if out, err := os.ReadFile(filepath.Join(f.Path, "output", "3.log")); err != nil || string(out) != "output\n" {
		t.Errorf("output %q, %v", out, err)
	}
	if runs, err := History(dir, "parallel"); err != nil || len(runs) != 1 || runs[0] != f.Path {
		t.Errorf("history %v, %v", runs, err)
	}
}

func TestHistoryNewestFirst(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"20261121T090000Z", "20261120T090000Z", "20261122T090000Z"} {
		f, err := Create(dir, run(id))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}

	runs, err := History(dir, "parallel")
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		runs[i] = filepath.Base(runs[i])
	}

	if want := []string{"20261122T090000Z", "20261121T090000Z", "20261120T090000Z"}; !slices.Equal(runs, want) {
		t.Errorf("got %v", runs)
	}
	if runs, err := History(dir, "none"); err != nil || runs != nil {
		t.Errorf("a suite that never ran: %v, %v", runs, err)
	}
}

func TestLongOutputKeepsTheEnd(t *testing.T) {
	got := tail(strings.Repeat("line\n", maxOutput) + "the end\n")
	if len(got) > maxOutput+100 || !strings.HasSuffix(got, "the end\n") || !strings.HasPrefix(got, "(the beginning") {
		t.Errorf("%d bytes, begins %q", len(got), got[:40])
	}
}

func TestKnownCauses(t *testing.T) {
	causes, err := KnownCauses()
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		spec   Spec
		output string
		want   Class
	}{
		{Spec{Name: "[sig-windows] Hybrid cluster network for all supported CNIs should provide Internet connection for Linux containers"}, "", Network},
		{
			Spec{Name: "[sig-storage] Secrets should be consumable from pods in volume"},
			"error from PowerShell Script: exit status 1, powershell.exe: the cmdlet Get-Disk is not part of Mullion's PowerShell", OurGap,
		},
		{
			Spec{Name: "[k8s.io] Image Manager public image with tag should be pulled and removed [Conformance]"},
			"pull gcr.io/k8s-staging-cri-tools/win-test-image-tag:test", Network,
		},
		{Spec{Name: "[sig-x] something new", Message: "surprise"}, "text", Unknown},
	} {
		if got := causes.Of(tt.spec, tt.output); got.Class != tt.want || got.Note == "" {
			t.Errorf("%s: %+v, want %s", tt.spec.Name, got, tt.want)
		}
	}
}

func TestBadCauses(t *testing.T) {
	for name, text := range map[string]string{
		"class":      "causes: [{spec: x, class: bad luck, note: n}]",
		"no-note":    "causes: [{spec: x, class: our gap}]",
		"fits-all":   "causes: [{class: our gap, note: n}]",
		"expression": "causes: [{spec: '(', class: our gap, note: n}]",
		"field":      "causes: [{specs: x, class: our gap, note: n}]",
	} {
		if _, err := ParseCauses([]byte(text)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
