package plaintext_test

import (
	"testing"

	"mullion.dev/mullion/internal/base/plaintext"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string][2]string{
		"":                    {"", ""},
		"plain ü → text":      {"plain ü → text", "plain ü → text"},
		"two\nlines":          {"two\nlines", "two·lines"},
		"\x1b[31mred\r":       {"·[31mred·", "·[31mred·"},
		"\u202eright\u2028to": {"·right·to", "·right·to"},
		"not \xff UTF-8":      {"not · UTF-8", "not · UTF-8"},
		"tab\tand C1 \u0085":  {"tab·and C1 ·", "tab·and C1 ·"},
	} {
		if got := plaintext.Printable(in); got != want[0] {
			t.Errorf("Printable(%q) is %q, want %q", in, got, want[0])
		}
		if got := plaintext.OneLine(in); got != want[1] {
			t.Errorf("OneLine(%q) is %q, want %q", in, got, want[1])
		}
	}
}
