package shell_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/cmdexe/shell"
)

// TestTyped: what a person types at a console, and what it shows. Tab completes names as cmd /? says.
func TestTyped(t *testing.T) {
	for name, tt := range map[string]struct{ lines, want string }{
		"a file":                   {"type one\t", `C:\w>type one.txt` + "\nfirst\n"},
		"quotes":                   {"type two\t", `C:\w>type "two words.txt"` + "\nsecond\n"},
		"in quotes":                {"type \"two w\t", `C:\w>type "two words.txt"` + "\nsecond\n"},
		"in a folder":              {"type sub\\\t", `C:\w>type sub\inner.txt` + "\ninner\n"},
		"the first of two":         {"echo sub\\the\t", `C:\w>echo "sub\the file"` + "\n\"sub\\the file\"\n"},
		"of another drive's":       {"echo C:\\bi\t", `C:\w>echo C:\bin` + "\nC:\\bin\n"},
		"a folder":                 {"cd o\t", `C:\w>cd only` + "\n"},
		"a file for echo":          {"echo o\t", `C:\w>echo one.txt` + "\none.txt\n"},
		"a pattern":                {"echo *words*\t", `C:\w>echo "two words.txt"` + "\n\"two words.txt\"\n"},
		"behind an operator":       {"echo x&type on\t", `C:\w>echo x&type one.txt` + "\nx\nfirst\n"},
		"into a file":              {"echo x>on\t", `C:\w>echo x>one.txt` + "\n"},
		"what is behind is gone":   {"echo on\t rest", `C:\w>echo one.txt` + "\none.txt\n"},
		"nothing of the name":      {"echo zz\t", `C:\w>echo zz` + "\nzz\n"},
		"a folder that is missing": {"echo no\\zz\t", `C:\w>echo no\zz` + "\nno\\zz\n"},
		"Ctrl+C":                   {"^C\necho later", `C:\w>^C` + "\n\n" + `C:\w>echo later` + "\nlater\n"},
		"a macro":                  {"doskey e=echo [$1] $* $g f$techo $$$9 $q\nE a \"b c\"\ntype f", `C:\w>doskey e=echo [$1] $* $g f$techo $$$9 $q` + "\n\n" + `C:\w>E a "b c"` + "\n$ $q\n\n" + `C:\w>type f` + "\n[a] a \"b c\" \n"},
		"a blank before a macro":   {"doskey e=echo macro\n e\ncd .", `C:\w>doskey e=echo macro` + "\n\n" + `C:\w> e` + "\n'e' is not recognized as an internal or external command,\noperable program or batch file.\n\n" + `C:\w>cd .` + "\n"},
		"a macro of a builtin":     {"doskey dir=echo mine $*\ndir x", `C:\w>doskey dir=echo mine $*` + "\n\n" + `C:\w>dir x` + "\nmine x\n"},
		"the history":              {"echo a\ndoskey /h", `C:\w>echo a` + "\na\n\n" + `C:\w>doskey /h` + "\necho a\ndoskey /h\n"},
		"more than a line":         {"if 1==1 (\necho yes\n)", `C:\w>if 1==1 (` + "\nMore? echo yes\nMore? )\nyes\n"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write("w/one.txt", "first\r\n")
			m.write("w/two words.txt", "second\r\n")
			m.write("w/sub/inner.txt", "inner\r\n")
			m.write("w/only/x", "")
			m.write("w/sub/the file", "")
			m.write("w/sub/the file (x86)", "")
			m.typed = strings.Split(tt.lines, "\n")
			out := m.file("output")
			o := m.options([]string{`PATH=C:\bin`}, `C:\w`, [3]*os.File{m.file("input"), out, out})
			o.CommandLine = "cmd"
			if code := shell.Main(t.Context(), o); code != 0 {
				t.Errorf("exit code %d", code)
			}

			text, err := os.ReadFile(out.Name())
			if err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "]\n\n")
			if i := strings.LastIndex(got, "\n"); i >= 0 {
				got = got[:i]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
