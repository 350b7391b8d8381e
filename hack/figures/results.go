package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"mullion.dev/mullion/hack/shown"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/diagnose"
	"mullion.dev/mullion/internal/network/nettest"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/test/documents"
)

// kubernetes is the version whose lists of specs are quoted.
const kubernetes = "1.37.1"

// suite is what became of a suite of Kubernetes' own tests.
type suite struct {
	name, date                             string
	selected, passed, flaky, failed, other int
}

// readSuite counts the lines of a kept list. Its first comment with a date says when it was made.
func readSuite(root, name string) (suite, error) {
	file := filepath.Join(root, "docs", "conformance", name+"-"+kubernetes+".txt")
	f, err := os.Open(file)
	if err != nil {
		return suite{}, fmt.Errorf("read the results of the suite %s: %w", name, err)
	}
	defer f.Close()

	s := suite{name: name}
	date := regexp.MustCompile(`^# (\d{4}-\d\d-\d\d),`)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if m := date.FindStringSubmatch(line); m != nil && s.date == "" {
			s.date = m[1]
		}
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}

		if err := s.count(strings.Fields(line)[0]); err != nil {
			return s, fmt.Errorf("%s: %w", file, err)
		}
	}

	if err := lines.Err(); err != nil {
		return s, fmt.Errorf("read %s: %w", file, err)
	}
	if s.selected == 0 || s.date == "" {
		return s, fmt.Errorf("%s has no specs, or no date", file)
	}

	return s, nil
}

// count adds a spec of this state.
func (s *suite) count(state string) error {
	s.selected++
	switch state {
	case "passed":
		s.passed++
	case "flaky":
		s.flaky++
	case "failed":
		s.failed++
	case "skipped":
		s.other++
	default:
		return fmt.Errorf("a spec is %q", state)
	}

	return nil
}

// flows returns the number of calls that `mullion net test` makes in a mode, with those over IPv6.
func flows(mode spec.Mode) int {
	n := 0
	for _, f := range append(nettest.Flows(mode, spec.ProfileFaithful), nettest.Flows6(mode, spec.ProfileFaithful)...) {
		n += len(f.Protocols)
	}
	return n
}

// statements counts what the documents say, by what is so here.
func statements() (map[documents.Level]int, int, error) {
	areas, err := documents.Statements()
	if err != nil {
		return nil, 0, err
	}

	levels, all := map[documents.Level]int{}, 0
	for _, a := range areas {
		for _, s := range a.Rows {
			levels[s.Is]++
			all++
		}
	}

	return levels, all, nil
}

// statementsFile is the page of what the documents say.
const statementsFile = "docs/compat/statements.md"

// statementsPage makes it, with the last runs of what shows each statement.
func statementsPage(root string) (string, error) {
	areas, err := documents.Statements()
	if err != nil {
		return "", err
	}
	runs, err := shown.Runs(root, areas)
	if err != nil {
		return "", err
	}

	var page strings.Builder
	err = documents.WriteStatements(&page, areas, runs)
	return page.String(), err
}

// programs counts the rows of the page of programs, and those whose checks all pass with each Wine.
func programs(root string) (whole, all int, err error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "compat", "programs.md"))
	if err != nil {
		return 0, 0, fmt.Errorf("read the page of programs: %w", err)
	}

	cell := regexp.MustCompile(`\| (\d+) of (\d+) `)
	for line := range strings.Lines(string(text)) {
		cells := cell.FindAllStringSubmatch(line, -1)
		if len(cells) == 0 {
			continue
		}
		all++
		passed := true
		for _, c := range cells {
			passed = passed && c[1] == c[2]
		}

		if passed {
			whole++
		}
	}

	return whole, all, nil
}

// blocks makes every block's lines.
func blocks(root string) (map[string]string, error) {
	parallel, err := readSuite(root, "parallel")
	if err != nil {
		return nil, err
	}
	serial, err := readSuite(root, "serial")
	if err != nil {
		return nil, err
	}

	all, err := results(root)
	if err != nil {
		return nil, err
	}
	tested, err := tested(root, parallel, serial)
	if err != nil {
		return nil, err
	}

	support, err := support(root)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"tested":  tested + ladder(all),
		"suites":  suites(parallel, serial),
		"support": support,
		"runs":    runs(all),
		"flaky":   flaky(all),
		"bench":   measured(all[bench]),
	}, nil
}

// tested returns README's list of results.
func tested(root string, parallel, serial suite) (string, error) {
	levels, all, err := statements()
	if err != nil {
		return "", err
	}
	whole, programs, err := programs(root)
	if err != nil {
		return "", err
	}

	var b strings.Builder
	fmt.Fprintf(&b, "* Kubernetes %s's own Windows e2e tests, unpatched: parallel [%d of %d](docs/conformance/parallel-%s.txt), "+
		"serial [%d of %d](docs/conformance/serial-%s.txt); [what fails, and why](docs/conformance.md)\n",
		kubernetes, parallel.passed, parallel.selected, kubernetes, serial.passed, serial.selected, kubernetes)
	fmt.Fprintf(&b, "* What the documents say of Windows nodes: [%d of %d work, %d partly, %d do not](docs/compat/statements.md)\n",
		levels[documents.Works], all, levels[documents.Partly], levels[documents.Not])
	fmt.Fprintf(&b, "* Programs as published: [%d of %d pass every check](docs/compat/programs.md), with Wine 8 and 10\n", whole, programs)
	fmt.Fprintf(&b, "* `mullion net test`: [%d flows](docs/network-flows.md); `mullion check`: [%d rules](docs/check-rules.md); "+
		"`mullion diagnose`: [%d probes](docs/diagnose.md)\n", flows(spec.ModeL2Bridge), len(rules.All()), len(diagnose.Probes()))

	return b.String(), nil
}

// suites returns the table of the page about Kubernetes' own tests.
func suites(all ...suite) string {
	var b strings.Builder
	b.WriteString("| suite | of | selected | passed | flaky | failed | skipped |\n|---|---|---|---|---|---|---|\n")
	for _, s := range all {
		fmt.Fprintf(&b, "| [`%s` (%s)](conformance/%s-%s.txt) | %s | %d | %d | %d | %d | %d |\n",
			s.name, kubernetes, s.name, kubernetes, s.date, s.selected, s.passed, s.flaky, s.failed, s.other)
	}
	return b.String()
}
