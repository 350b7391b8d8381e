package forfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// listed prints the commands in place of running them.
type listed struct{ top string }

func (l listed) Run(e program.Env, line, folder string) error {
	if line == "nosuch" {
		return errMissing
	}
	rel, err := filepath.Rel(l.top, folder)
	fmt.Fprintf(e.Stdout, "%s: %s\n", filepath.ToSlash(rel), strings.ReplaceAll(filepath.ToSlash(line), filepath.ToSlash(l.top), "TOP"))
	return err
}

func (listed) Now() time.Time { return time.Date(2024, 5, 10, 12, 0, 0, 0, time.Local) }

// tree makes the files that the tests find.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	programtest.Write(t, dir, map[string]string{"a.txt": "12345", "b.log": "", "sub/c.tar.gz": "x", "sub/deep/@file": "x", "no-extension": ""})
	for name, at := range map[string]string{
		"a.txt": "2024-05-06 07:08:09", "b.log": "2024-05-10 23:59:59", "sub/c.tar.gz": "2023-12-31 00:00:00", "sub/deep/@file": "2024-05-09 13:00:00",
		"no-extension": "2024-06-01 00:00:00", "sub/deep": "2024-05-08 01:00:00", "sub": "2024-05-09 00:00:00",
	} {
		when, err := time.ParseInLocation(time.DateTime, at, time.Local)
		if err == nil {
			err = os.Chtimes(filepath.Join(dir, name), when, when)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFinds runs forfiles with the options of its page.
func TestFinds(t *testing.T) {
	top := tree(t)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"all":    {nil, "\n.: cmd /c echo \"a.txt\"\n.: cmd /c echo \"b.log\"\n.: cmd /c echo \"no-extension\"\n.: cmd /c echo \"sub\"\n"},
		"a mask": {[]string{"/m", "*.TXT"}, "\n.: cmd /c echo \"a.txt\"\n"},
		"each variable": {
			[]string{"/M", "a*", "/C", "x @file @fname @ext @path @relpath @isdir @fsize @fdate @ftime @FILE @none a@b"},
			"\n.: x \"a.txt\" \"a\" \"txt\" \"TOP/a.txt\" \"./a.txt\" FALSE 5 5/6/2024 7:08:09 AM \"a.txt\" @none a@b\n",
		},
		"of a folder": {[]string{"/M", "sub", "/C", "@isdir @fsize @ext @fname"}, "\n.: TRUE 0 \"\" \"sub\"\n"},
		"below": {
			[]string{"/S", "/M", "*.*", "/C", "@relpath"},
			"\n.: \"./a.txt\"\n.: \"./b.log\"\n.: \"./no-extension\"\n.: \"./sub\"\nsub: \"./sub/c.tar.gz\"\nsub: \"./sub/deep\"\n" +
				"sub/deep: \"./sub/deep/@file\"\n",
		},
		"two extensions":                     {[]string{"/s", "/m", "*.gz", "/c", "@fname @ext"}, "\nsub: \"c.tar\" \"gz\"\n"},
		"a value is not looked at again":     {[]string{"/s", "/m", "@*", "/c", "@file @fname"}, "\nsub/deep: \"@file\" \"@file\"\n"},
		"characters":                         {[]string{"/m", "a.txt", "/c", "cmd /c echo 0x22@fsize0x09x0x220x4 0xZZ"}, "\n.: cmd /c echo \"5\tx\"0x4 0xZZ\n"},
		"older than days":                    {[]string{"/s", "/d", "-1", "/c", "@relpath"}, "\n.: \"./a.txt\"\n.: \"./sub\"\nsub: \"./sub/c.tar.gz\"\nsub: \"./sub/deep\"\nsub/deep: \"./sub/deep/@file\"\n"},
		"of today and later":                 {[]string{"/d", "+0", "/c", "@file"}, "\n.: \"b.log\"\n.: \"no-extension\"\n"},
		"without a sign":                     {[]string{"/d", "5/10/2024", "/c", "@file"}, "\n.: \"b.log\"\n.: \"no-extension\"\n"},
		"until a day, which counts":          {[]string{"/d", "-05/06/2024", "/c", "@file"}, "\n.: \"a.txt\"\n"},
		"in so many days":                    {[]string{"/d", "+22", "/c", "@file"}, "\n.: \"no-extension\"\n"},
		"options with a dash, in any letter": {[]string{"-P", filepath.Join(top, "sub"), "-m", "C*"}, "\nsub: cmd /c echo \"c.tar.gz\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(top)
			got := programtest.Run("", func(e program.Env) int { return Run(e, listed{top}, tt.args) })
			if diff := cmp.Diff(programtest.Result{Out: tt.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefuses runs forfiles with what it refuses.
func TestRefuses(t *testing.T) {
	top := tree(t)
	t.Chdir(top)
	hint := "Type \"FORFILES /?\" for usage.\n"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"/x"}, "ERROR: Invalid argument/option - '/x'.\n" + hint},
		{[]string{"a.txt"}, "ERROR: Invalid argument/option - 'a.txt'.\n" + hint},
		{[]string{"/m"}, "ERROR: Invalid syntax. Value expected for '/m'.\n" + hint},
		{[]string{"/d", ""}, "ERROR: Invalid syntax. Value expected for '/d'.\n" + hint},
		{[]string{"/s", "/S"}, "ERROR: Invalid syntax. '/S' option is not allowed more than '1' time(s).\n" + hint},
		{[]string{"/d", "-13/13/2024"}, "ERROR: Invalid date specified.\n" + hint},
		{[]string{"/d", "+32769"}, "ERROR: Invalid date specified.\n" + hint},
		{[]string{"/d", "--1"}, "ERROR: Invalid date specified.\n" + hint},
		{[]string{"/d", "-"}, "ERROR: Invalid date specified.\n" + hint},
		{[]string{"/p", "none"}, "ERROR: The directory name is invalid.\n"},
		{[]string{"/p", "a.txt"}, "ERROR: The directory name is invalid.\n"},
		{[]string{"/p", `\\server\share`}, "ERROR: UNC paths (\\\\machine\\share) are not supported.\n"},
		{[]string{"/m", "*.none"}, "ERROR: No files found with the specified search criteria.\n"},
		{[]string{"/d", "-01/01/2000"}, "ERROR: No files found with the specified search criteria.\n"},
	} {
		got := programtest.Run("", func(e program.Env) int { return Run(e, listed{top}, tt.args) })
		if want := (programtest.Result{Code: exitFailed, Err: tt.want}); got != want {
			t.Errorf("%q: %+v, want %+v", tt.args, got, want)
		}
	}

	missing := programtest.Run("", func(e program.Env) int { return Run(e, listed{top}, []string{"/m", "*.txt", "/c", "nosuch"}) })
	want := programtest.Result{
		Code: exitFailed,
		Out:  "\n",
		Err:  "ERROR: The system cannot find the file specified.\n",
	}
	if missing != want {
		t.Errorf("a command that is not there: %+v", missing)
	}

	help := programtest.Run("", func(e program.Env) int { return Run(e, listed{top}, []string{"/?"}) })
	if help.Code != exitDone || !strings.HasPrefix(help.Out, "FORFILES [/P pathname]") {
		t.Errorf("/?: %+v", help)
	}
}
