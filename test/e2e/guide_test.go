//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is a fenced block of a document.
type block struct {
	language string
	line     int // of its first line of text
	text     []string
}

// blocks returns a document's fenced blocks, in order.
func blocks(text string) []block {
	var all []block
	open := false
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !open:
			all = append(all, block{language: language, line: number + 1})
			open = true
		case fence:
			open = false
		case open:
			last := &all[len(all)-1]
			last.text = append(last.text, line)
		}
	}

	return all
}

// script returns the commands of a page of the guide, which has one block of them.
func script(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/guide", page))
	if err != nil {
		t.Fatal(err)
	}

	var found []string
	for _, b := range blocks(string(text)) {
		if b.language == "sh" {
			found = append(found, strings.Join(b.text, "\n"))
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks of commands", page, len(found))
	}
	return found[0]
}

// step is a command of a document with the output that the document shows.
type step struct {
	line    int
	command string
	want    []string
}

// steps returns the commands of a console block.
func (b block) steps() []step {
	var all []step
	for i, line := range b.text {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, step{line: b.line + i, command: command})
		} else if len(all) > 0 {
			all[len(all)-1].want = append(all[len(all)-1].want, line)
		}
	}
	return all
}

// pattern matches the output that the document shows: any number of spaces count as one, "…" stands for anything.
func (s step) pattern() *regexp.Regexp {
	var parts []string
	for _, line := range s.want {
		quoted := regexp.QuoteMeta(strings.Join(strings.Fields(line), " "))
		parts = append(parts, strings.ReplaceAll(quoted, "…", ".*"))
	}
	return regexp.MustCompile("(?s)" + strings.Join(parts, " "))
}

// guide carries out docs/schedule-windows-containers.md: YAML blocks that begin with a name are files, console blocks
// are commands. A command may need some time until it prints what the document shows. Only a command that reads is
// repeated, because any other may change something each time.
func (c cluster) guide(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../../docs/schedule-windows-containers.md")
	if err != nil {
		t.Fatal(err)
	}

	dir, ran := t.TempDir(), 0
	for _, b := range blocks(string(text)) {
		switch b.language {
		case "yaml":
			name, ok := strings.CutPrefix(b.text[0], "# ")
			if !ok || name != filepath.Base(name) {
				t.Fatalf("line %d: the file has no name", b.line)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(b.text, "\n")+"\n"),
				0o600); err != nil {
				t.Fatal(err)
			}

		case "console":
			for _, s := range b.steps() {
				ran++
				c.follow(t, dir, s)
			}
		}
	}

	if ran < 10 {
		t.Errorf("the document has %d commands", ran)
	}
}

// reads reports whether the command changes nothing.
func (s step) reads() bool {
	return regexp.MustCompile(`^(curl|mullion kubectl (get|top|logs|exec|rollout status)) `).MatchString(s.command)
}

// follow runs a command of the document in dir.
func (c cluster) follow(t *testing.T, dir string, s step) {
	t.Helper()
	want := s.pattern()
	try := func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, "sh", "-c", s.command)
		cmd.Dir, cmd.Env = dir, c.env()
		out, err := cmd.CombinedOutput()
		if err != nil || !want.MatchString(strings.Join(strings.Fields(string(out)), " ")) {
			return errors.Join(fmt.Errorf("line %d: %s\nprints\n%swant\n%s", s.line, s.command, out,
				strings.Join(s.want, "\n")), err)
		}
		return nil
	}

	if s.reads() {
		poll(t, settle, try)
	} else if err := try(t.Context()); err != nil {
		t.Fatal(err)
	}
}
