package rules_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/check/rules"
)

var update = flag.Bool("update", false, "rewrite docs/check-rules.md")

// TestPage holds that docs/check-rules.md is what the rules say.
func TestPage(t *testing.T) {
	var want strings.Builder
	if err := rules.Markdown(&want); err != nil {
		t.Fatal(err)
	}
	const page = "../../../docs/check-rules.md"
	if *update {
		if err := os.WriteFile(page, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("docs/check-rules.md (-rules +page): go test ./internal/check/rules -run TestPage -update\n%s", diff)
	}
}
