// Package shown finds the last kept run of each test that a statement of the documents names (package documents): in
// the results of rungs, and in the lists of specs of upstream's suites.
package shown

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mullion.dev/mullion/hack/kept"
	"mullion.dev/mullion/internal/conformance/result"
	"mullion.dev/mullion/test/documents"
)

// Runs returns the last runs below the repository's folder. A run that left a test out is none of it.
func Runs(root string, areas []documents.Area) (documents.Runs, error) {
	runs, wanted := documents.Runs{}, map[string][]string{}
	for _, a := range areas {
		for _, s := range a.Rows {
			for _, name := range s.Shown {
				as := documents.KeptAs(name)
				if as != "" && !slices.Contains(wanted[as], name) {
					wanted[as] = append(wanted[as], name)
				}
				if as != "" {
					continue
				}
				run, found, err := listed(root, name)
				if err != nil {
					return nil, err
				}
				if found {
					runs[name] = run
				}
			}
		}
	}

	results, err := newest(root)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		for as, run := range found(r, wanted) {
			for _, name := range wanted[as] {
				runs[name] = run
			}
			delete(wanted, as)
		}
	}

	return runs, nil
}

// newest returns the results of all rungs, the newest first. A run of a tree with changes shows nothing of a commit.
func newest(root string) ([]kept.Result, error) {
	folder := filepath.Join(root, kept.Folder)
	suites, err := kept.Suites(folder)
	if err != nil {
		return nil, err
	}

	var all []kept.Result
	for _, suite := range suites {
		files, err := kept.Files(folder, suite)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			r, err := kept.Read(file)
			if err != nil {
				return nil, err
			}
			if !r.Changed {
				all = append(all, r)
			}
		}
	}

	slices.SortStableFunc(all, func(a, b kept.Result) int { return b.Began.Compare(a.Began) })
	return all, nil
}

// found returns the runs in a result of the tests that are wanted. Where only parts of a test have names, it is all of
// them together.
func found(r kept.Result, wanted map[string][]string) map[string]documents.Run {
	runs := map[string]documents.Run{}
	whole := map[string]bool{}
	for _, t := range r.Tests {
		outcome, ran := outcomeOf(t)
		if !ran {
			continue
		}

		for as := t.Name; as != ""; as = above(as) {
			if _, is := wanted[as]; !is || whole[as] {
				continue
			}
			run, others := runs[as]
			switch {
			case as == t.Name:
				whole[as] = true
				run.Seconds, run.Outcome = t.Seconds, outcome
			case !others || outcome != documents.Passed:
				run.Outcome = outcome
				run.Seconds += t.Seconds
			default:
				run.Seconds += t.Seconds
			}

			run.Date, run.Commit = r.Began.UTC().Format("2006-01-02"), r.Commit
			run.File = filepath.ToSlash(filepath.Join(kept.Folder, r.Suite, r.Name()))
			runs[as] = run
		}
	}

	return runs
}

// above returns the test of which one is a part, "" if it is no part.
func above(name string) string {
	pkg, test, _ := strings.Cut(name, " ")
	at := strings.LastIndexByte(test, '/')
	if at < 0 {
		return ""
	}
	return pkg + " " + test[:at]
}

// outcomeOf returns how a test ended; false: it was left out.
func outcomeOf(t kept.Test) (outcome string, ran bool) {
	switch t.State {
	case result.Passed:
		return documents.Passed, true
	case result.Flaky:
		return "passed at its second try", true
	case result.Failed, result.Cut:
		return string(result.Failed), true
	}
	return "", false
}

// listed returns the last run of a sample or a suite, as a statement names it.
func listed(root, name string) (run documents.Run, found bool, err error) {
	if suite, is := strings.CutPrefix(name, "suite "); is {
		run, err := ofSuite(root, suite)
		return run, err == nil, err
	}

	folder := filepath.Join("docs", "compat", "documents")
	samples, err := documents.ReadResults(filepath.Join(root, folder))
	if err != nil {
		return run, false, err
	}
	for _, o := range samples.Samples {
		if "sample "+o.ID != name {
			continue
		}
		run = documents.Run{
			Date:    o.Date,
			Commit:  o.Commit,
			File:    filepath.ToSlash(filepath.Join(folder, "results.yaml")),
			Outcome: documents.Passed,
			Seconds: o.Seconds,
		}
		if !o.Seen {
			run.Outcome = "failed: it was otherwise than the table says"
		}
		return run, true, nil
	}

	return run, false, nil
}

var (
	dated = regexp.MustCompile(`^# (\d{4}-\d\d-\d\d),(?: Mullion of commit ([0-9a-f]{8})\b)?`)
	state = regexp.MustCompile(`^(passed|flaky|failed|skipped) `)
)

// ofSuite reads the list of a suite's specs, the one of the newest version.
func ofSuite(root, suite string) (documents.Run, error) {
	lists, err := filepath.Glob(filepath.Join(root, "docs", "conformance", suite+"-1.*.txt"))
	if err != nil || len(lists) == 0 {
		return documents.Run{}, fmt.Errorf("there is no list of the suite %s: %w", suite, os.ErrNotExist)
	}
	file := lists[len(lists)-1]
	f, err := os.Open(file)
	if err != nil {
		return documents.Run{}, fmt.Errorf("read the results of the suite %s: %w", suite, err)
	}
	defer f.Close()

	var run documents.Run
	passed, all := 0, 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := dated.FindStringSubmatch(lines.Text()); m != nil && run.Date == "" {
			run.Date, run.Commit = m[1], m[2]
		}
		if m := state.FindStringSubmatch(lines.Text()); m != nil {
			all++
			if m[1] == "passed" || m[1] == "flaky" {
				passed++
			}
		}
	}
	if err := lines.Err(); err != nil {
		return run, fmt.Errorf("read %s: %w", file, err)
	}
	if all == 0 || run.Date == "" {
		return run, fmt.Errorf("%s has no specs, or no date", file)
	}

	run.File = filepath.ToSlash(filepath.Join("docs", "conformance", filepath.Base(file)))
	run.Outcome = fmt.Sprintf("%d of %d specs passed", passed, all)
	return run, nil
}
