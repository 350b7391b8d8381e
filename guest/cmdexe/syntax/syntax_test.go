package syntax

import (
	"errors"
	"io"
	"strings"
	"testing"
)

type text struct{ lines []string }

func (l *text) Next() (string, bool) {
	if len(l.lines) == 0 {
		return "", false
	}
	line := l.lines[0]
	l.lines = l.lines[1:]
	return line, true
}

func asItIs(text string) string { return text }

func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"simple", "echo  a  b", "echo  a  b "},
		{"without_arguments", "cls", "cls"},
		{"precedence", "a&b||c&&d|e", "a & b || c && d | e"},
		{"redirections", "a >f 2>&1 <g", "a     1>f  2>&1  0<g "},
		{"block", "(a&b)>f", "(a & b)  1>f "},
		{"block_of_lines", "(a\nb\n\nc)", "(\r\na\r\nb\r\nc\r\n) "},
		{"if", "if /i not \"a b\"==c d", "if /I not \"a b\" == c d"},
		{"else", "if exist f (a) else b", "if exist f (a)  else b"},
		{"else_if", "if a==b (c) else if d LSS e (f) else g", "if a == b (c)  else if d LSS e (f)  else g"},
		{"for", "for %i in (a,b) do c", "for %i in (a,b) do c"},
		{"for_f", "for /f \"tokens=2 delims=,\" %i in ('a ^| b') do @c", "for /F \"tokens=2 delims=,\" %i in ('a | b') do c"},
		{"for_r", "for /r \"C:\\x y\" %i in (*) do c", "for /R \"C:\\x y\" %i in (*) do c"},
		{"for_of_lines", "for %i in (a\nb) do c", "for %i in (a b) do c"},
		{"caret", "a ^& b^\n&c", "a & b&c "},
		{"quotes", "a \"&|<>^\" b", "a \"&|<>^\" b "},
		{"rem", "rem a & b", "rem a & b "},
		{"label", ":x & y", ""},
		{"handle", "a1>f", "a1 1>f "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, err := Parse(&text{strings.Split(tt.line, "\n")})
			if err != nil {
				t.Fatal(err)
			}
			if got := Text(n, asItIs); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestQuiet: an @ is for all that follows it, up to the end of the line or of the block.
func TestQuiet(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		want       bool
	}{
		{"sequence", "@a & b", true},
		{"operators", "@a && b || c", true},
		{"later", "a & @b", false},
		{"in_a_block", "(@a & b\nc)", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, line := range []string{tt.line, "for %i in (x) do " + tt.line} {
				n, err := Parse(&text{strings.Split(line, "\n")})
				if err != nil {
					t.Fatal(err)
				}
				if loop, ok := n.(*For); ok {
					n = loop.Body
				}

				if _, quiet := n.(*Quiet); quiet != tt.want {
					t.Errorf("%q: quiet is %t, want %t", line, quiet, tt.want)
				}
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"nothing", "a &&", Incorrect},
		{"open", "(a", Incorrect},
		{"after_a_block", "(a) b", "b was unexpected at this time."},
		{"if_alone", "if", Incorrect},
		{"if_without_a_command", "if a==b", Incorrect},
		{"if_operator", "if a foo b c", "foo was unexpected at this time."},
		{"else_alone", "if a==b (c) else", Incorrect},
		{"for_alone", "for", Incorrect},
		{"for_variable", "for %ab in (c) do d", "%ab was unexpected at this time."},
		{"for_in", "for %a of (c) do d", "of was unexpected at this time."},
		{"for_do", "for %a in (c) d", "d was unexpected at this time."},
		{"for_two_kinds", "for /l /f %a in (c) do d", "/f was unexpected at this time."},
		{"set_special", "for %a in (b|c) do d", "| was unexpected at this time."},
		{"handle", "a >&x", "x was unexpected at this time."},
		{"pipe_twice", "a | | b", "| was unexpected at this time."},
		{"file_missing", "a > & b", "& was unexpected at this time."},
		{"too_deep", strings.Repeat("(", 1000), "The command is nested too deeply."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(&text{strings.Split(tt.line, "\n")})
			if err == nil || err.Error() != tt.want {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}

	if _, err := Parse(&text{}); !errors.Is(err, io.EOF) {
		t.Errorf("without a line: %v, want io.EOF", err)
	}
}

// FuzzParse reads lines of any kind, and what it shows of them once more.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a&b||c&&d|e", "(a\nb)>f 2>&1", "if /i not exist x (a) else b", "for /f \"eol=x\" %i in ('a') do b", "a ^\n b", "@@rem x", "\"",
		"((((", "if if if", "for /d /r x %i in (a", ">>>>", "1>&", "a\x00b\xff",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, input string) {
		lines := &text{strings.Split(input, "\n")}
		for range len(input) + 2 {
			n, err := Parse(lines)
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && n != nil {
				Text(n, asItIs)
			}
		}

		t.Errorf("%q does not end", input)
	})
}
