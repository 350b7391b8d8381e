package rules_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/check/rules"
)

// TestPage holds that docs/check-rules.md is what the rules say.
func TestPage(t *testing.T) {
	var want strings.Builder
	if err := rules.Markdown(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../docs/check-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("docs/check-rules.md (-rules +page): run make update\n%s", diff)
	}
}
