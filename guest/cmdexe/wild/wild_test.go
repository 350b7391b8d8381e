package wild

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "a", true},
		{"*.*", "a", true},
		{"*.txt", "A.TXT", true},
		{"*.txt", "a.txtx", false},
		{"a?.b", "ax.b", true},
		{"a?.b", "a.b", true},
		{"a??", "a", true},
		{"?", "ab", false},
		{"a*c*e", "abcde", true},
		{"a*c*e", "abcd", false},
		{"*.", "name", true},
		{"*.", "name.x", false},
		{"", "a", false},
		{"ü*", "Übung", true},
		{strings.Repeat("a*", 500) + "b", strings.Repeat("a", 2000), false}, // and soon
	} {
		if got := Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q and %q: %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
}

func TestRename(t *testing.T) {
	for _, tt := range []struct{ old, pattern, want string }{
		{"a.txt", "b.log", "b.log"},
		{"a.txt", "*.log", "a.log"},
		{"a.txt", "b.*", "b.txt"},
		{"abc.txt", "x??.*", "xbc.txt"},
		{"abc", "*.x", "abc.x"},
		{"a.txt", "b", "b"},
	} {
		if got := Rename(tt.old, tt.pattern); got != tt.want {
			t.Errorf("%q to %q: %q, want %q", tt.old, tt.pattern, got, tt.want)
		}
	}
}
