package arch_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// anchor returns what a heading is called in links, as GitHub and GitLab make it.
func anchor(heading string) string {
	heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteRune('-')
		}
	}
	return b.String()
}

// anchors returns all anchors of a page: its headings, and the ids that it gives.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	id := regexp.MustCompile(`<a id="([^"]+)"`)
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced {
			continue
		}
		for _, m := range id.FindAllStringSubmatch(line, -1) {
			all[m[1]] = true
		}

		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		name := anchor(heading)
		for i := 1; all[name]; i++ {
			name = fmt.Sprintf("%s-%d", anchor(heading), i)
		}

		all[name] = true
	}

	return all
}

// TestAnchorsLead holds that a link to a part of a page of ours leads to a heading or an id that is there.
func TestAnchorsLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*)#([^)\s]+)\)`)
	known := map[string]map[string]bool{}
	for _, path := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}

			to := path
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(path), m[1])
			}
			if filepath.Ext(to) != ".md" {
				continue
			}

			if known[to] == nil {
				known[to] = anchors(read(t, to))
			}
			if !known[to][m[2]] {
				t.Errorf("%s links to %s#%s: there is no such heading", path, m[1], m[2])
			}
		}
	}

	if len(known) < 5 {
		t.Errorf("only %d pages are linked to by their parts", len(known))
	}
}

func TestAnchor(t *testing.T) {
	for heading, want := range map[string]string{
		" Kubernetes' own e2e tests\n":             "kubernetes-own-e2e-tests",
		" cluster.yaml":                            "clusteryaml",
		" A & b, `c_d`":                            "a--b-c_d",
		" [Start: up](guide/start.md)":             "start-up",
		" Codespaces, dev containers, WSL2":        "codespaces-dev-containers-wsl2",
		" Schedule Windows containers – in detail": "schedule-windows-containers--in-detail",
	} {
		if got := anchor(heading); got != want {
			t.Errorf("%q: got %q, want %q", heading, got, want)
		}
	}
}
