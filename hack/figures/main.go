// Command figures writes the numbers that README.md and the documents quote, between markers, from the results that the
// repository keeps: the files in results, the lists of specs in docs/conformance, the table of statements, the support
// pages, and the tables of rules, probes and flows. With -check it writes nothing and fails if a number is another one.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

	var stale []string
	for name, wanted := range quotes() {
		path := filepath.Join(root, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read a file that quotes results: %w", err)
		}

		now := string(text)
		for _, block := range wanted {
			if now, err = put(now, block, blocks[block]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if now == string(text) {
			continue
		}

		stale = append(stale, name)
		if check {
			continue
		}
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil { //nolint:gosec // a page of the repository
			return fmt.Errorf("write a file that quotes results: %w", err)
		}
	}

	if check && len(stale) > 0 {
		return fmt.Errorf("%s: not what the kept results say: run `go run ./hack/figures` and commit the result",
			strings.Join(stale, ", "))
	}

	return nil
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
