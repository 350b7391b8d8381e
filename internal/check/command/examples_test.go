package command_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/check/command"
)

var update = flag.Bool("update", false, "rewrite the outputs in docs/check-examples.md")

// TestExamples checks that docs/check-examples.md shows the output for all of examples/check.
func TestExamples(t *testing.T) {
	t.Chdir("../../..")
	const page = "docs/check-examples.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	shown := map[string]bool{}
	block := regexp.MustCompile("(?ms)^```console\n\\$ mullion check --offline (\\S+)\n(.*?)^```$")
	got := block.ReplaceAllStringFunc(string(text), func(b string) string {
		path := block.FindStringSubmatch(b)[1]
		shown[path] = true
		var out strings.Builder
		outcome, err := command.Run(t.Context(), command.Options{
			Offline:    true,
			Paths:      []string{path},
			Kubernetes: "1.37",
			FailOn:     "error",
			Output:     "text",
		}, strings.NewReader(""), &out)
		if err != nil || outcome.Unreadable || !outcome.Findings {
			t.Errorf("%s: %+v, %v; want findings", path, outcome, err)
		}

		return "```console\n$ mullion check --offline " + path + "\n" + out.String() + "```"
	})

	files, err := filepath.Glob("examples/check/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("examples/check: %d files, %v", len(files), err)
	}
	for _, file := range files {
		if !shown[file] {
			t.Errorf("%s does not show %s", page, file)
		}
	}

	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("%s (-shown +printed); after a change: go test ./internal/check/command -run TestExamples -update\n%s",
			page, diff)
	}
}
