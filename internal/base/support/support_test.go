package support_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/support"
)

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	rows := []support.Row{
		{Area: "CRI", Name: "Version", Level: support.Supported, Ref: "https://x/a"},
		{Area: "CRI", Name: "Checkpoint", Level: support.Not, Note: "a|b", Ref: "https://x/b"},
	}
	if err := support.Markdown(&b, rows); err != nil {
		t.Fatal(err)
	}

	want := "## CRI\n\n| what | support | note |\n|---|---|---|\n" +
		"| [`Version`](https://x/a) | supported |  |\n| [`Checkpoint`](https://x/b) | not | a\\|b |\n"
	if got := b.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestCheck(t *testing.T) {
	good := support.Row{
		Area:  "A",
		Name:  "n",
		Level: support.Partly,
		Note:  "half",
		Ref:   "https://x",
	}

	for _, tc := range []struct {
		name string
		rows []support.Row
		want string
	}{
		{name: "good", rows: []support.Row{good}},
		{name: "twice", rows: []support.Row{good, good}, want: "twice"},
		{
			name: "no-note",
			rows: []support.Row{{Area: "A", Name: "n", Level: support.Not, Ref: "https://x"}},
			want: "note",
		},
		{name: "no-ref", rows: []support.Row{{Area: "A", Name: "n", Level: support.Supported}}, want: "reference"},
		{name: "level", rows: []support.Row{{Area: "A", Name: "n", Level: "maybe", Ref: "https://x"}}, want: "level"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := support.Check(tc.rows)
			if (tc.want == "" && err != nil) || (tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want))) {
				t.Errorf("Check() = %v, want %q", err, tc.want)
			}
		})
	}
}
