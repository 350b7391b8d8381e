package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/hack/kept"
	"mullion.dev/mullion/internal/conformance/result"
)

// rungsOfMakeTest returns the rungs that `make test` runs, from the one that needs least.
func rungsOfMakeTest() []string {
	return []string{"pure", "kernel", "wine", "cluster", "conformance", "machines"}
}

// results returns the results that are kept below root: of each suite all runs, the newest first.
func results(root string) (map[string][]kept.Result, error) {
	folder := filepath.Join(root, kept.Folder)
	suites, err := kept.Suites(folder)
	if err != nil {
		return nil, err
	}

	all := map[string][]kept.Result{}
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
			all[suite] = append(all[suite], r)
		}
	}

	return all, nil
}

// runs returns the table of docs/results.md: a row for each run of a rung.
func runs(all map[string][]kept.Result) string {
	var b strings.Builder
	b.WriteString("| rung | began | commit | passed | flaky | failed | skipped | seconds | load before, most | machine |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for _, rung := range rungsOfMakeTest() {
		for _, r := range all[rung] {
			n := r.Count()
			fmt.Fprintf(&b, "| %s | [%s](%s) | %s | %d | %d | %d | %d | %.0f | %.1f, %.1f | %s |\n", rung,
				r.Began.Format("2006-01-02 15:04"), path.Join("..", kept.Folder, rung, r.Name()), commit(r), n[result.Passed],
				n[result.Flaky], n[result.Failed], n[result.Skipped],
				r.Seconds, r.Load.Before, r.Load.Most, machine(r.Machine))
		}
	}

	return b.String()
}

// flaky returns the tables of docs/results.md about tests that passed at their second try: how many there are in the
// runs of each rung that are kept, and each one with what it said when it failed.
func flaky(all map[string][]kept.Result) string {
	var rates, tests strings.Builder
	rates.WriteString("| rung | runs | with a flaky test | tests that ran in them | flaky | of a thousand |\n|---|---|---|---|---|---|\n")
	for _, rung := range rungsOfMakeTest() {
		runs, ran := len(all[rung]), 0
		found, in := 0, 0
		for _, r := range all[rung] {
			n := r.Count()
			ran += n[result.Passed] + n[result.Failed] + n[result.Flaky]
			of := r.Flaky()
			found += len(of)
			if len(of) > 0 {
				in++
			}

			for _, t := range of {
				cause, _, _ := strings.Cut(t.Reason, "\n")
				fmt.Fprintf(&tests, "| %s | `%s` | %s | %s |\n", rung, t.Name, commit(r), strings.ReplaceAll(cause, "|", "\\|"))
			}
		}

		if runs > 0 {
			fmt.Fprintf(&rates, "| %s | %d | %d | %d | %d | %.2f |\n", rung, runs, in, ran, found,
				1000*float64(found)/float64(max(ran, 1)))
		}
	}

	if tests.Len() > 0 {
		rates.WriteString("\n| rung | test | commit | what it said |\n|---|---|---|---|\n")
	}
	return rates.String() + tests.String()
}

// commit names what a result is of.
func commit(r kept.Result) string {
	if r.Changed {
		return r.Commit + " and changes"
	}
	return r.Commit
}

// machine names a machine in a cell of a table.
func machine(m kept.Machine) string {
	return fmt.Sprintf("%d × %s, %.0f GiB, %s, Linux %s, cgroup %s, %s", m.Cores, m.Processor, m.MemoryGiB, m.System,
		m.Kernel, m.Cgroup, m.Wine)
}

// ladder returns README's line about the newest kept run of each rung. It is empty where a rung has none.
func ladder(all map[string][]kept.Result) string {
	passed, failed := 0, 0
	for _, rung := range rungsOfMakeTest() {
		if len(all[rung]) == 0 {
			return ""
		}
		n := all[rung][0].Count()
		passed += n[result.Passed] + n[result.Flaky]
		failed += n[result.Failed]
	}

	return fmt.Sprintf("* `make test`: [%d of %d, rung by rung](docs/results.md)\n", passed, passed+failed)
}
