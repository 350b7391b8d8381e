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

func TestShortened(t *testing.T) {
	for _, tc := range []struct {
		in   string
		most int
		want string
	}{
		{"", 4, ""},
		{"four", 4, "four"},
		{"fives", 4, "five… (of 5 bytes)"},
		{"aüü", 2, "a… (of 5 bytes)"},
		{"aüü", 3, "aü… (of 5 bytes)"},
		{"\x80\x80\x80", 2, "… (of 3 bytes)"},
		{"x", 0, "… (of 1 bytes)"},
	} {
		if got := plaintext.Shortened(tc.in, tc.most); got != tc.want {
			t.Errorf("Shortened(%q, %d) is %q, want %q", tc.in, tc.most, got, tc.want)
		}
	}
}
