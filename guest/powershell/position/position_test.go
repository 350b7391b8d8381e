package position

import (
	"strings"
	"testing"
)

func extent(text, part string) Extent {
	from := strings.Index(text, part)
	return Extent{&Source{Text: []rune(text)}, from, from + len(part)}
}

func TestMessage(t *testing.T) {
	long := strings.Repeat("a", 40) + " Get-Item " + strings.Repeat("b", 40)
	for name, tt := range map[string]struct {
		at   Extent
		want string
	}{
		"nowhere":   {Extent{}, ""},
		"whole":     {extent("1/0", "1/0"), "At line:1 char:1\n+ 1/0\n+ ~~~"},
		"in_a_line": {extent("a\r\n$x = b \r\nc", "b"), "At line:2 char:6\n+ $x = b\n+      ~"},
		"tabs":      {extent("\t\tx\ty", "x\ty"), "At line:1 char:3\n+         x    y\n+         ~~~~~~"},
		"two_lines": {extent("if (1) {\n2 }", "{\n2 }"), "At line:1 char:8\n+ if (1) {\n+        ~"},
		"at_end":    {Extent{&Source{Text: []rune("a {")}, 3, 3}, "At line:1 char:4\n+ a {\n+    ~"},
		"empty":     {Extent{&Source{Text: []rune("a\n")}, 2, 2}, "At line:2 char:1\n+ "},
		"long": {
			extent(long, "Get-Item"),
			"At line:1 char:42\n+ " + long[:69] + " ...\n+ " + strings.Repeat(" ", 41) + "~~~~~~~~",
		},
		"long_end": {
			extent(long+" end", "end"),
			"At line:1 char:92\n+ ... " + (long + " end")[25:] + "\n+ " + strings.Repeat(" ", 4+66) + "~~~",
		},
		"all_long": {
			extent(long, long),
			"At line:1 char:1\n+ " + long[:69] + " ...\n+ " + strings.Repeat("~", 69),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.at.Message("\n"); got != tt.want {
				t.Errorf("\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
