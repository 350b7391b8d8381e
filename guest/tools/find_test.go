package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindstrInput(t *testing.T) {
	const text = "Hello world\r\nfoo.bar\r\nfooXbar\r\na[1]\r\nlast"
	for _, tc := range []struct {
		name string
		args []string
		code int
		out  string
	}{
		{"one_word", []string{"world"}, 0, "Hello world\n"},
		{"words", []string{"world last"}, 0, "Hello world\nlast\n"},
		{"case", []string{"hello"}, 1, ""},
		{"no_case", []string{"/I", "hello"}, 0, "Hello world\n"},
		{"regular_by_default", []string{"foo.bar"}, 0, "foo.bar\nfooXbar\n"},
		{"literal", []string{"/l", "foo.bar"}, 0, "foo.bar\n"},
		{"escaped_is_literal", []string{`foo\.bar`}, 1, ""},
		{"escaped", []string{"/r", `foo\.bar`}, 0, "foo.bar\n"},
		{"c_is_literal", []string{"/c:foo.bar"}, 0, "foo.bar\n"},
		{"c_with_space", []string{"/c:Hello w"}, 0, "Hello world\n"},
		{"c_regular", []string{"/r", "/c:foo.bar"}, 0, "foo.bar\nfooXbar\n"},
		{"class", []string{"foo[^.]bar"}, 0, "fooXbar\n"},
		{"range", []string{"[0-9]"}, 0, "a[1]\n"},
		{"range_case", []string{"[A-H]ello"}, 0, "Hello world\n"},
		{"no_class", []string{"/r", "a["}, 0, "a[1]\n"},
		{"begin", []string{"^foo"}, 0, "foo.bar\nfooXbar\n"},
		{"end", []string{"bar$ last$"}, 0, "foo.bar\nfooXbar\nlast\n"},
		{"repeat", []string{"fo*X"}, 0, "fooXbar\n"},
		{"word_begin", []string{`\<bar`}, 0, "foo.bar\n"},
		{"b", []string{"/b", "/c:world"}, 1, ""},
		{"e", []string{"/e", "world"}, 0, "Hello world\n"},
		{"x", []string{"/x", "last"}, 0, "last\n"},
		{"invert", []string{"/v", "foo"}, 0, "Hello world\na[1]\nlast\n"},
		{"numbers_and_offsets", []string{"/no", "foo"}, 0, "2:13:foo.bar\n3:22:fooXbar\n"},
		{"dashes", []string{"-i", "-n", "HELLO"}, 0, "1:Hello world\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, &fake{}, text, append([]string{"findstr"}, tc.args...)...)
			if diff := cmp.Diff(result{tc.code, tc.out, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindstrFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{
		"a.txt": "one\r\ntwo\r\n", "b.txt": "two\nthree", "sub/c.txt": "two\r\n", "bin.txt": "two\x00\x01",
		"list": "a.txt\r\nnone\r\n", "words": "one\nthree\n",
	})
	sub := filepath.Join("sub", "c.txt")
	for _, tc := range []struct {
		name string
		args []string
		want result
	}{
		{"one", []string{"two", "a.txt"}, result{0, "two\n", ""}},
		{"two", []string{"two", "a.txt", "B.TXT"}, result{0, "a.txt:two\n", "FINDSTR: Cannot open B.TXT\n"}},
		{"several", []string{"/p", "two", "*.txt"}, result{0, "a.txt:two\nb.txt:two\n", ""}},
		{"last_line", []string{"three", "b.txt"}, result{0, "three\n", ""}},
		{"dollar_wants_cr", []string{"o$", "b.txt", "a.txt"}, result{0, "a.txt:two\n", ""}},
		{"below", []string{"/s", "/m", "two", "?.txt"}, result{0, "a.txt\nb.txt\n" + sub + "\n", ""}},
		{"folders", []string{"/d:sub", "two", "*"}, result{0, "  sub:\n" + sub + ":two\n", ""}},
		{"list", []string{"/f:list", "one"}, result{0, "a.txt:one\n", "FINDSTR: Cannot open none\n"}},
		{"words", []string{"/g:words", "a.txt", "b.txt"}, result{0, "a.txt:one\nb.txt:three\n", ""}},
		{"missing", []string{"x", "none.txt"}, result{1, "", "FINDSTR: Cannot open none.txt\n"}},
		{"missing_words", []string{"/g:none", "a.txt"}, result{2, "", "FINDSTR: Cannot read strings from none\n"}},
		{"missing_list", []string{"/f:none", "a"}, result{2, "", "FINDSTR: Cannot read file list from none\n"}},
		{"nothing", nil, result{2, "", "FINDSTR: Bad command line\n"}},
		{"unknown", []string{"/z", "one", "a.txt"}, result{0, "one\n", "FINDSTR: /z ignored\n"}},
		{"folder", []string{"two", "sub"}, result{1, "", "FINDSTR: Cannot open sub\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if os.PathSeparator == '\\' && tc.name == "two" {
				t.Skip("there the names are the same")
			}
			got := run(t, &fake{}, "", append([]string{"findstr"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhere(t *testing.T) {
	dir := t.TempDir()
	here := filepath.Join(dir, "here")
	write(t, dir, map[string]string{
		"here/tool.txt": "", "bin/Tool.EXE": "12345", "bin/other.cmd": "",
		"more/tool.exe": "", "more/deep/tool.exe": "",
	})
	t.Chdir(here)
	at := func(names ...string) string {
		var out strings.Builder
		for _, n := range names {
			out.WriteString(filepath.Join(dir, filepath.FromSlash(n)) + "\n")
		}
		return out.String()
	}
	path := strings.Join([]string{
		filepath.Join(dir, "bin"), filepath.Join(dir, "more"), filepath.Join(dir, "none"),
		filepath.Join(dir, "bin"),
	}, string(os.PathListSeparator))
	w := &fake{variables: map[string]string{"env PATH": path, "env DIRS": filepath.Join(dir, "more")}}
	for _, tc := range []struct {
		name string
		args []string
		want result
	}{
		{"program", []string{"tool"}, result{0, at("bin/Tool.EXE", "more/tool.exe"), ""}},
		{"name", []string{"tool.txt"}, result{0, at("here/tool.txt"), ""}},
		{"stars", []string{"*.cmd"}, result{0, at("bin/other.cmd"), ""}},
		{"quoted", []string{"/f", "other"}, result{0, `"` + strings.TrimSpace(at("bin/other.cmd")) + "\"\n", ""}},
		{
			"below",
			[]string{"/r", dir, "tool.exe"},
			result{0, at("bin/Tool.EXE", "more/tool.exe", "more/deep/tool.exe"), ""},
		},
		{"variable", []string{"$DIRS:tool"}, result{0, at("more/tool.exe"), ""}},
		{"quiet", []string{"/q", "tool"}, result{0, "", ""}},
		{"quiet_none", []string{"/q", "none"}, result{1, "", ""}},
		{"none", []string{"none"}, result{1, "", "INFO: Could not find files for the given pattern(s).\n"}},
		{"one_of_two", []string{"none", "other"}, result{0, at("bin/other.cmd"), "INFO: Could not find \"none\".\n"}},
		{
			"no_folder",
			[]string{"/r", "none", "x"},
			result{2, "", "ERROR: The system cannot find the file specified.\n"},
		},
		{
			"unknown",
			[]string{"/z", "x"},
			result{2, "", "ERROR: Invalid argument or option - '/z'.\nType \"WHERE /?\" for usage.\n"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, w, "", append([]string{"where"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := run(t, w, "", "where", "/t", "tool.exe"); !strings.HasPrefix(got.out, "        5   ") {
		t.Errorf("%+v", got)
	}
	if got := run(t, w, "", "where"); got.code != 2 || !strings.Contains(got.out, "WHERE [/R dir]") {
		t.Errorf("%+v", got)
	}
}
