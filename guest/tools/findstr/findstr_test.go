package findstr

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

type result = programtest.Result

// run runs findstr; the first argument is its name.
func run(t *testing.T, input string, args ...string) result {
	t.Helper()
	return programtest.Run(input, func(e program.Env) int { return Run(e, args[1:]) })
}

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
			got := run(t, text, append([]string{"findstr"}, tc.args...)...)
			if diff := cmp.Diff(result{Code: tc.code, Out: tc.out}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindstrFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	programtest.Write(t, ".", map[string]string{
		"a.txt": "one\r\ntwo\r\n", "b.txt": "two\nthree", "sub/c.txt": "two\r\n", "bin.txt": "two\x00\x01",
		"list": "a.txt\r\nnone\r\n", "words": "one\nthree\n",
	})

	sub := filepath.Join("sub", "c.txt")
	for _, tc := range []struct {
		name string
		args []string
		want result
	}{
		{"one", []string{"two", "a.txt"}, result{Out: "two\n"}},
		{"two", []string{"two", "a.txt", "B.TXT"}, result{Out: "a.txt:two\n", Err: "FINDSTR: Cannot open B.TXT\n"}},
		{"several", []string{"/p", "two", "*.txt"}, result{Out: "a.txt:two\nb.txt:two\n"}},
		{"last_line", []string{"three", "b.txt"}, result{Out: "three\n"}},
		{"dollar_wants_cr", []string{"o$", "b.txt", "a.txt"}, result{Out: "a.txt:two\n"}},
		{"below", []string{"/s", "/m", "two", "?.txt"}, result{Out: "a.txt\nb.txt\n" + sub + "\n"}},
		{"folders", []string{"/d:sub", "two", "*"}, result{Out: "  sub:\n" + sub + ":two\n"}},
		{"list", []string{"/f:list", "one"}, result{Out: "a.txt:one\n", Err: "FINDSTR: Cannot open none\n"}},
		{"words", []string{"/g:words", "a.txt", "b.txt"}, result{Out: "a.txt:one\nb.txt:three\n"}},
		{"missing", []string{"x", "none.txt"}, result{Code: 1, Err: "FINDSTR: Cannot open none.txt\n"}},
		{"missing_words", []string{"/g:none", "a.txt"}, result{Code: 2, Err: "FINDSTR: Cannot read strings from none\n"}},
		{"missing_list", []string{"/f:none", "a"}, result{Code: 2, Err: "FINDSTR: Cannot read file list from none\n"}},
		{"nothing", nil, result{Code: 2, Err: "FINDSTR: Bad command line\n"}},
		{"unknown", []string{"/z", "one", "a.txt"}, result{Out: "one\n", Err: "FINDSTR: /z ignored\n"}},
		{"folder", []string{"two", "sub"}, result{Code: 1, Err: "FINDSTR: Cannot open sub\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if os.PathSeparator == '\\' && tc.name == "two" {
				t.Skip("there the names are the same")
			}
			got := run(t, "", append([]string{"findstr"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
