//go:build conformance

package page

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"mullion.dev/mullion/internal/conformance/result"
)

// samplePage writes the page of the results in testdata/sample, beside those of two earlier runs, and gives the file.
// The results are a part of those of a real run of suite parallel, in which one spec was made flaky; the causes are
// those of that time.
func samplePage(t *testing.T) string {
	t.Helper()
	results := t.TempDir()
	sample, err := result.Load(filepath.Join("testdata", "sample"))
	if err != nil {
		t.Fatal(err)
	}

	folder := filepath.Join(results, sample.Run.Suite, sample.Run.ID)
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "sample"))); err != nil {
		t.Fatal(err)
	}

	day := 24 * time.Hour
	earlier(t, results, sample, day, func(i int, s *result.Spec) {
		if s.State == result.Flaky || i%17 == 3 {
			s.State = result.Failed
		}
	})

	earlier(t, results, sample, 2*day, func(i int, s *result.Spec) {
		switch {
		case i == 40:
			s.State = result.Cut
		case i > 40:
			s.State = result.NotRun
		case i%11 == 5:
			s.State = result.Failed
		}
	})

	runs, err := result.History(results, sample.Run.Suite)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join("testdata", "causes.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	causes, err := result.ParseCauses(table)
	if err != nil {
		t.Fatal(err)
	}
	file, err := Write(folder, runs, causes)
	if err != nil {
		t.Fatal(err)
	}

	return file
}

// earlier writes a run that was before another one and ended otherwise.
func earlier(t *testing.T, results string, later result.Results, before time.Duration,
	change func(i int, s *result.Spec),
) {
	t.Helper()
	run := later.Run
	run.Start = run.Start.Add(-before)
	run.ID = result.NewID(run.Start)
	f, err := result.Create(results, run)
	if err != nil {
		t.Fatal(err)
	}

	for i, s := range later.All() {
		change(i, &s)
		if s.State == result.NotRun {
			continue
		}
		s.Output, s.NodeLog = "", ""
		if err := f.Add(s, "", ""); err != nil {
			t.Fatal(err)
		}
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
