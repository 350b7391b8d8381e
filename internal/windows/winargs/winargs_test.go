package winargs

import (
	"strings"
	"testing"
)

// TestLine holds what the C runtime's reader of command lines is given
// (https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments has these).
func TestLine(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{`C:\app.exe`, "a b c", "d", "e"}, `C:\app.exe "a b c" d e`},
		{[]string{"x", `ab"c`, `\`, "d"}, `x ab\"c \ d`},
		{[]string{"x", `a\\\b`, "de fg", "h"}, `x a\\\b "de fg" h`},
		{[]string{"x", `a\"b`}, `x a\\\"b`},
		{[]string{"x", `C:\a b\`}, `x "C:\a b\\"`},
		{[]string{`C:\Program Files\x.exe`, ""}, `"C:\Program Files\x.exe" ""`},
	} {
		if got := Line(tt.args); got != tt.want {
			t.Errorf("of %q it is %s, want %s", tt.args, got, tt.want)
		}
	}
}

// TestFits counts what Windows counts: units of UTF-16, the quotes and the end.
func TestFits(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want bool
	}{
		{"as long as may be", []string{"x", strings.Repeat("a", Most-3)}, true},
		{"one more", []string{"x", strings.Repeat("a", Most-2)}, false},
		{"with quotes", []string{"x", " " + strings.Repeat("a", Most-5)}, false},
		{"of two bytes each", []string{"x", strings.Repeat("ü", Most-3)}, true},
		{"of two units each", []string{"x", strings.Repeat("😀", Most/2)}, false},
		{"many", append([]string{"x"}, make([]string, Most)...), false},
		{"no UTF-8", []string{"x", strings.Repeat("\xff", Most-3)}, true},
	} {
		if got := Fits(tt.args); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
