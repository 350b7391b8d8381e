package object

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		got, err := Replace(tt.text, []Value{tt.pattern, tt.with}, false)
		if err != nil || got != tt.want {
			t.Errorf("%q -replace %q, %q: got %q, %v, want %q", tt.text, tt.pattern, tt.with, got, err, tt.want)
		}
	}
}

// TestSplit compares with the results of .NET's Regex.Split.
func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		text    Value
		pattern Value
		want    []Value
	}{
		{"a b", " ", []Value{"a", "b"}},
		{" a ", " ", []Value{"", "a", ""}},
		{"a,b,c", []Value{",", int64(2)}, []Value{"a", "b,c"}},
		{"a,b,c", []Value{",", int64(1)}, []Value{"a,b,c"}},
		{"a,b,c", []Value{",", int64(0)}, []Value{"a", "b", "c"}},
		{"a1b", "(1)", []Value{"a", "1", "b"}},
		{"a1b2c", []Value{`(\d)`, int64(2)}, []Value{"a", "1", "b2c"}},
		{"a1b", "(1)|(2)", []Value{"a", "1", "b"}},
		{[]Value{"a-b", "c"}, "-", []Value{"a", "b", "c"}},
		{"ab", "", []Value{"", "a", "b", ""}},
		{nil, ",", []Value{""}},
		{int64(123), "2", []Value{"1", "3"}},
	} {
		got, err := SplitBy(tt.text, tt.pattern, false)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%v -split %v: %v\n-want +got:\n%s", tt.text, tt.pattern, err, diff)
		}
	}
}

// TestDialect has expressions that .NET and RE2 read differently, beside similar ones that they read alike.
func TestDialect(t *testing.T) {
	for pattern, refused := range map[string]bool{
		`(a)\1`:       true,
		`\0`:          true,
		`\x{41}`:      true,
		`\x41`:        false,
		`\pL`:         true,
		`\p{L}`:       false,
		`\P{L}`:       false,
		`\Qa`:         true,
		`\C`:          true,
		`[a-z-[b]]`:   true,
		`[[:alpha:]]`: true,
		`[[a]`:        false,
		`[a[]`:        false,
		`[]a]`:        false,
		`[^]a]`:       false,
		`[\]]`:        false,
		`(?P<n>a)`:    true,
		`(?U)a`:       true,
		`(?i-U:a)`:    true,
		`(?<n>a)`:     false,
		`(?i)a`:       false,
		`(?:P)`:       false,
		`(?=a)`:       true,
		`(?<!a)`:      true,
		`(?>a)`:       true,
		`a++`:         true,
		`\Z`:          true,
		`\z`:          false,
		`\e`:          true,
		`\bword\b`:    false,
		`a{2,3}?`:     false,
		`\d+\.\w*\s`:  false,
		`\\`:          false,
		`\\1`:         false,
		`(`:           true,
		`\`:           true,
		`[`:           true,
		`*`:           true,
	} {
		if _, err := Compile(pattern); (err != nil) != refused {
			t.Errorf("%q: %v, want it refused: %v", pattern, err, refused)
		}
	}
}

// TestTextsOfPatterns has patterns that .NET and RE2 match differently in some texts only.
func TestTextsOfPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		refused       bool
	}{
		{"a$", "a", false},
		{"a$", "a\n", true},
		{`a\$`, "a\n", false},
		{"(?m)a$", "a\n", false},
		{`a\z`, "a\n", false},
		{`\w`, "ä", true},
		{`\D`, "ä", true},
		{"[ä]", "ä", false},
		{".", "ä", false},
		{`\w`, "a", false},
		{`\\w`, "ä", false},
	} {
		p, err := Compile(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Matches(tt.text); (err != nil) != tt.refused {
			t.Errorf("%q of %q: %v, want it refused: %v", tt.pattern, tt.text, err, tt.refused)
		}
	}
}

// TestPatternsOfNothing has patterns that can match the empty text as well as characters: in texts with both kinds of
// matches, .NET and RE2 find different ones.
func TestPatternsOfNothing(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		refused       bool
	}{
		{"a*", "bbb", false},
		{"a*", "baab", true},
		{"a+", "baab", false},
		{"a?", "a", true},
		{"a|", "a", true},
		{"(a*)(b*)", "ab", true},
		{"a{0,2}", "a", true},
		{"a{1,2}", "a", false},
		{"(a|b)c", "ac", false},
		{`\b`, "a b", false},
		{`a|\b`, "a b", true},
		{"^", "ab", false},
	} {
		p, err := Compile(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.all(tt.text); (err != nil) != tt.refused {
			t.Errorf("%q in %q: %v, want it refused: %v", tt.pattern, tt.text, err, tt.refused)
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
