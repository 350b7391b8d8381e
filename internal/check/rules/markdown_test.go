package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/golden"

	"mullion.dev/mullion/internal/check/rules"
)

// TestPage holds that docs/check-rules.md is what the rules say.
func TestPage(t *testing.T) {
	var want strings.Builder
	if err := rules.Markdown(&want); err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, want.String(), "../../../../docs/check-rules.md")
}
