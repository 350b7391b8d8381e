package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// area is a heading of a support page, and how many of its rows are of which level.
type area struct {
	name, page string
	levels     map[string]int
}

// support returns the table of docs/features.md: the rows of `mullion support`, counted by area. It reads the pages
// that `make verify` compares with what the program prints.
func support(root string) (string, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "compat", "*.md"))
	if err != nil {
		return "", fmt.Errorf("list the support pages: %w", err)
	}

	slices.Sort(pages)
	var all []area
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return "", fmt.Errorf("read a support page: %w", err)
		}
		if strings.HasPrefix(string(text), "# Support: ") {
			all = append(all, areas(filepath.Base(page), string(text))...)
		}
	}

	if len(all) == 0 {
		return "", errors.New("docs/compat has no support page")
	}
	var b strings.Builder
	b.WriteString("| area | supported | partly | not |\n|---|---|---|---|\n")
	for _, a := range all {
		fmt.Fprintf(&b, "| [%s](compat/%s) | %d | %d | %d |\n", a.name, a.page, a.levels["supported"], a.levels["partly"], a.levels["not"])
	}

	return b.String(), nil
}

// areas counts the rows of a page below each of its headings. A heading without rows of support is left out.
func areas(page, text string) []area {
	level := regexp.MustCompile(`^\| .* \| (supported|partly|not) \|`)
	var all []area
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			all = append(all, area{
				name:   strings.TrimSpace(name),
				page:   page,
				levels: map[string]int{},
			})
			continue
		}

		if m := level.FindStringSubmatch(line); m != nil && len(all) > 0 {
			all[len(all)-1].levels[m[1]]++
		}
	}

	return slices.DeleteFunc(all, func(a area) bool { return len(a.levels) == 0 })
}
