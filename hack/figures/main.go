// Command figures writes the numbers that README.md and the documents quote, between markers, from the results that the
// repository keeps: the files in results, the lists of specs in docs/conformance, the table of statements, the support
// pages, and the tables of rules, probes and flows. The
// page of statements names results throughout, and is written whole. With -check it writes nothing and fails if a
// number is another one.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// quotes returns the files with quoted numbers, and the blocks that each has.
func quotes() map[string][]string {
	return map[string][]string{
		"README.md":           {"tested"},
		"docs/benchmarks.md":  {"bench"},
		"docs/conformance.md": {"suites"},
		"docs/features.md":    {"support"},
		"docs/results.md":     {"runs", "flaky"},
	}
}

func main() {
	root := flag.String("root", ".", "the repository's folder")
	check := flag.Bool("check", false, "write nothing; fail if a file does not say what the results say")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// run puts the blocks into the files below root, or, with check, compares them.
func run(root string, check bool) error {
	blocks, err := blocks(root)
	if err != nil {
		return err
	}

	page, err := statementsPage(root)
	if err != nil {
		return err
	}

	pages := map[string]func(string) (string, error){
		statementsFile: func(string) (string, error) { return page, nil },
	}
	for name, wanted := range quotes() {
		pages[name] = func(now string) (string, error) {
			for _, block := range wanted {
				var err error
				if now, err = put(now, block, blocks[block]); err != nil {
					return "", fmt.Errorf("%s: %w", name, err)
				}
			}
			return now, nil
		}
	}

	var stale []string
	for name, page := range pages {
		changed, err := renew(filepath.Join(root, name), page, check)
		if err != nil {
			return err
		}
		if changed {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)

	if check && len(stale) > 0 {
		return fmt.Errorf("%s: not what the kept results say: run `go run ./hack/figures` and commit the result",
			strings.Join(stale, ", "))
	}

	return nil
}

// renew has a file say what page makes of it, and reports whether it said something else. With check it stays.
func renew(file string, page func(now string) (string, error), check bool) (changed bool, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return false, fmt.Errorf("read a file that quotes results: %w", err)
	}
	wanted, err := page(string(text))
	if err != nil || wanted == string(text) || check {
		return wanted != string(text), err
	}
	if err := os.WriteFile(file, []byte(wanted), 0o644); err != nil { //nolint:gosec // a page of the repository
		return false, fmt.Errorf("write a file that quotes results: %w", err)
	}
	return true, nil
}

// put replaces what is between the markers of a block. A text without them, or with one of them alone, is refused.
func put(text, block, lines string) (string, error) {
	begin, end := "<!-- figures: "+block+" (written by hack/figures) -->\n", "<!-- end of "+block+" -->"
	before, rest, found := strings.Cut(text, begin)
	if !found {
		return "", fmt.Errorf("there is no marker %q", strings.TrimSpace(begin))
	}
	_, after, found := strings.Cut(rest, end)
	if !found {
		return "", fmt.Errorf("there is no marker %q", end)
	}
	return before + begin + lines + end + after, nil
}
