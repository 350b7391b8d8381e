package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// TestComp has the texts of comp's page
// (https://learn.microsoft.com/windows-server/administration/windows-commands/comp).
func TestComp(t *testing.T) {
	dir := t.TempDir()
	programtest.Write(t, dir, map[string]string{
		"a": "one\ntwo\n", "same": "one\ntwo\n", "b": "One\ntwx\n", "long": "one\ntwo\nthree\n", "many": strings.Repeat("x", 20),
		"other": strings.Repeat("y", 20), "sub/a": "one\ntwo\n", "1.txt": "1", "2.txt": "2", "1.bak": "1", "2.bak": "3", "bytes": "\xe9A", "others": "\xff\x61",
	})
	t.Chdir(dir)

	const more = "\nCompare more files (Y/N) ? "
	ten := ""
	for i := range 10 {
		ten += "Compare error at OFFSET " + strings.ToUpper(string("0123456789"[i])) + "\nfile1 = 78\nfile2 = 79\n"
	}
	for _, tt := range []struct {
		line, input string
		want        programtest.Result
	}{
		{"a same /m", "", programtest.Result{Out: "Comparing a and same...\nFiles compare OK\n"}},
		{"a b /M", "", programtest.Result{
			Code: 1, Out: "Comparing a and b...\nCompare error at OFFSET 0\nfile1 = 6F\nfile2 = 4F\nCompare error at OFFSET 6\nfile1 = 6F\nfile2 = 78\n",
		}},
		{"a b /c/l/a /m", "", programtest.Result{Code: 1, Out: "Comparing a and b...\nCompare error at LINE 2\nfile1 = o\nfile2 = x\n"}},
		{"a b /d /c /m", "", programtest.Result{Code: 1, Out: "Comparing a and b...\nCompare error at OFFSET 6\nfile1 = 111\nfile2 = 120\n"}},
		{"bytes others /c /m", "", programtest.Result{
			Code: 1, Out: "Comparing bytes and others...\nCompare error at OFFSET 0\nfile1 = E9\nfile2 = FF\n",
		}},
		{"a long /m", "", programtest.Result{Code: 1, Out: "Comparing a and long...\nFiles are different sizes.\n"}},
		{"a long /n=2 /m", "", programtest.Result{Out: "Comparing a and long...\nFiles compare OK\n"}},
		{"a long /n=3 /m", "", programtest.Result{Code: 1, Out: "Comparing a and long...\nFile1 only has 3 lines\n"}},
		{"many other /m", "", programtest.Result{Code: 1, Out: "Comparing many and other...\n" + ten + "10 mismatches - ending compare\n"}},
		{"a sub /m", "", programtest.Result{Out: "Comparing a and sub/a...\nFiles compare OK\n"}},
		{"*.txt *.bak /m", "", programtest.Result{
			Code: 1, Out: "Comparing 1.txt and 1.bak...\nFiles compare OK\nComparing 2.txt and 2.bak...\nCompare error at OFFSET 0\nfile1 = 32\nfile2 = 33\n",
		}},
		{"a same", "n\n", programtest.Result{Out: "Comparing a and same...\nFiles compare OK\n" + more + "\n"}},
		{"a same", "", programtest.Result{Out: "Comparing a and same...\nFiles compare OK\n" + more + "\n"}},
		{"a same", "y\na\nb\n/c\nl\n\nn\n", programtest.Result{
			Code: 1, Out: "Comparing a and same...\nFiles compare OK\n" + more + "Name of first file to compare: Name of second file to compare: " +
				"Option: Option: Option: Comparing a and b...\nCompare error at LINE 2\nfile1 = 6F\nfile2 = 78\n" + more + "\n",
		}},
		{"", "", programtest.Result{Out: "Name of first file to compare: \n"}},
		{"a none /m", "", programtest.Result{Code: 2, Out: "Comparing a and none...\n", Err: "Can't find/open file: none\n"}},
		{"*.none a /m", "", programtest.Result{Code: 2, Err: "Can't find/open file: *.none\n"}},
		{"a b /x", "", programtest.Result{Code: 2, Err: "Invalid switch - /x\n"}},
		{"a b /n=x", "", programtest.Result{Code: 2, Err: "Bad numeric argument\n"}},
		{"a b c", "", programtest.Result{Code: 2, Err: "Bad command line syntax\n"}},
	} {
		got := programtest.Run(tt.input, func(e program.Env) int { return Comp(e, strings.Fields(tt.line)) })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("comp %s (-want +got):\n%s", tt.line, diff)
		}
	}
}
