package pattern

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/powershell/object"
)

// TestReplace compares with .NET's results
// (https://learn.microsoft.com/en-us/dotnet/standard/base-types/substitutions-in-regular-expressions).
func TestReplace(t *testing.T) {
	for _, tt := range []struct{ text, pattern, with, want string }{
		{"C:/var/run", "/var/run", "C:/hpc/var/run", "C:C:/hpc/var/run"},
		{"aXbxc", "x", "-", "a-b-c"},
		{"ab", "(a)(b)", "$2$1", "ba"},
		{"ab", "(a)(b)", "${2}x${1}", "bxa"},
		{"ab", "(a)(?<n>b)", "$2 ${n} $1", "b b a"},
		{"ab", "(?<n>a)(b)", "$1 $2", "b a"},
		{"a", "(a)|(b)", "[$2]", "[]"},
		{"a", "a", "$", "$"},
		{"a", "a", "$$1", "$1"},
		{"a", "a", "${none}", "${none}"},
		{"a", "a", "$5", "$5"},
		{"a", "a", "<$&$0>", "<aa>"},
		{"abc", "^", ">", ">abc"},
		{"abc", "", ".", ".a.b.c."},
		{"a.b", `\.`, "", "ab"},
		{"a[b", `[[]`, "", "ab"},
		{"a]b", `[]]`, "", "ab"},
		{"a]b", `[^]]`, "", "]"},
		{"x\n", "x", "y", "y\n"},
	} {
		got, err := Replace(tt.text, []object.Value{tt.pattern, tt.with}, false)
		if err != nil || got != tt.want {
			t.Errorf("%q -replace %q, %q: got %q, %v, want %q", tt.text, tt.pattern, tt.with, got, err, tt.want)
		}
	}
}

// TestSplit compares with the results of .NET's Regex.Split.
func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		text    object.Value
		pattern object.Value
		want    []object.Value
	}{
		{"a b", " ", []object.Value{"a", "b"}},
		{" a ", " ", []object.Value{"", "a", ""}},
		{"a,b,c", []object.Value{",", int64(2)}, []object.Value{"a", "b,c"}},
		{"a,b,c", []object.Value{",", int64(1)}, []object.Value{"a,b,c"}},
		{"a,b,c", []object.Value{",", int64(0)}, []object.Value{"a", "b", "c"}},
		{"a1b", "(1)", []object.Value{"a", "1", "b"}},
		{"a1b2c", []object.Value{`(\d)`, int64(2)}, []object.Value{"a", "1", "b2c"}},
		{"a1b", "(1)|(2)", []object.Value{"a", "1", "b"}},
		{[]object.Value{"a-b", "c"}, "-", []object.Value{"a", "b", "c"}},
		{"ab", "", []object.Value{"", "a", "b", ""}},
		{nil, ",", []object.Value{""}},
		{int64(123), "2", []object.Value{"1", "3"}},
	} {
		got, err := SplitBy(tt.text, tt.pattern, false)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%v -split %v: %v\n-want +got:\n%s", tt.text, tt.pattern, err, diff)
		}
	}
}

// TestPatterns has what .NET's expressions have and others have not
// (https://learn.microsoft.com/en-us/dotnet/standard/base-types/regular-expression-language-quick-reference).
func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, text, want string // the first match, "-" for none
	}{
		{`(a)\1`, "xaa", "aa"},
		{`[a-z-[b]]+`, "bac", "ac"},
		{`foo(?=bar)`, "foofoobar", "foo"},
		{`(?<!a)b`, "abb", "b"},
		{`(?<=\$)\d+`, "7 $42", "42"},
		{`(?>a+)b`, "aaab", "aaab"},
		{`(?<y>\d{4})-\k<y>`, "2020-2020", "2020-2020"},
		{`(?<open>\()[^()]*(?<-open>\))`, "x(y)z", "(y)"},
		{`a$`, "a\n", "a"},
		{`a\z`, "a\n", "-"},
		{`\w+`, "äöü", "äöü"},
		{`\d`, "٣", "٣"},
		{`(?x) a  b # words`, "ab", "ab"},
		{`\p{Lu}`, "aB", "a"}, // the case of letters does not matter
		{`(?-i)\p{Lu}`, "aB", "B"},
		{`^b`, "a\nb", "-"},
		{`(?m)^b`, "a\nb", "b"},
		{`a.b`, "a\nb", "-"},
		{`(?s)a.b`, "a\nb", "a\nb"},
	} {
		p, err := Compile(tt.pattern)
		if err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
			continue
		}
		m, err := p.First(tt.text)
		got := "-"
		if m != nil {
			got = m.String()
		}
		if err != nil || got != tt.want {
			t.Errorf("%q in %q: got %q, %v, want %q", tt.pattern, tt.text, got, err, tt.want)
		}
	}
}

// TestNoPatterns has .NET's words for texts that are no expressions.
func TestNoPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"(":     `parsing "(" - Not enough )'s.`,
		"a)":    `parsing "a)" - Too many )'s.`,
		"[a":    `parsing "[a" - Unterminated [] set.`,
		"*":     `parsing "*" - Quantifier {x,y} following nothing.`,
		`a\`:    `parsing "a\\" - Illegal \ at end of pattern.`,
		`(a)\2`: `parsing "(a)\\2" - Reference to undefined group number 2.`,
	} {
		if _, err := Compile(pattern); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", pattern, err, want)
		}
	}
}

// TestPatternsOfNothing has patterns that match the empty text as well as characters.
func TestPatternsOfNothing(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          string
	}{
		{"a*", "baac", "xbxxcx"},
		{"a?", "a", "xx"},
		{`\b`, "a b", "xax xbx"},
	} {
		if got, err := Replace(tt.text, []object.Value{tt.pattern, "x"}, false); err != nil || got != tt.want {
			t.Errorf("%q -replace %q: got %q, %v, want %q", tt.text, tt.pattern, got, err, tt.want)
		}
	}
}

func TestWildcards(t *testing.T) {
	for _, tt := range []struct {
		pattern, match, other string
	}{
		{"*", "", "\x00never"},
		{"a*", "abc", "ba"},
		{"a?c", "abc", "ac"},
		{"[abc]x", "Bx", "dx"},
		{"[a-c]x", "cx", "dx"},
		{"[^]x", "^x", "ax"},
		{`[\]x`, `\x`, "]x"},
		{"[a`]", "", ""},
		{"a`*", "a*", "ab"},
		{"a`?", "a?", "ab"},
		{"a.b", "A.B", "axb"},
		{"a(b)", "a(b)", "ab"},
		{"a\n*", "a\nb\nc", "a"},
		{`c:\*`, `C:\dir\file`, "d:"},
		{"[]", "", ""},
		{"[z-a]", "", ""},
		{"x`", "x`", "x"},
	} {
		re, err := Wildcard(tt.pattern)
		switch {
		case tt.match == "" && tt.other == "":
			if err == nil {
				t.Errorf("%q is read", tt.pattern)
			}
		case err != nil:
			t.Errorf("%q: %v", tt.pattern, err)
		case !re.MatchString(tt.match):
			t.Errorf("%q does not match %q", tt.pattern, tt.match)
		case re.MatchString(tt.other) && !strings.HasPrefix(tt.other, "\x00"):
			t.Errorf("%q matches %q", tt.pattern, tt.other)
		}
	}
}
