package icacls

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/filesec"
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// fake is a Windows whose files have the lists that a test sets, by the last part of the path; owners are in them.
type fake struct {
	lists map[string]filesec.List
	err   error
}

// accounts returns the accounts that there are.
func accounts() map[string]string {
	return map[string]string{
		"S-1-1-0": "Everyone", "S-1-5-32-544": `BUILTIN\Administrators`, "S-1-5-32-545": `BUILTIN\Users`, "S-1-3-0": "CREATOR OWNER",
		"S-1-5-18": `NT AUTHORITY\SYSTEM`,
	}
}

func (w *fake) Access(path string) (filesec.List, error) {
	list, ok := w.lists[filepath.Base(path)]
	if !ok {
		return list, fs.ErrPermission
	}
	list.Entries = append([]filesec.Entry(nil), list.Entries...)
	return list, w.err
}

func (w *fake) SetAccess(path string, l filesec.List) error {
	w.lists[filepath.Base(path)] = l
	return w.err
}

func (w *fake) SetOwner(path, sid string) error {
	l := w.lists[filepath.Base(path)]
	l.Owner = sid
	w.lists[filepath.Base(path)] = l
	return w.err
}

func (w *fake) Account(sid string) string {
	if name, ok := accounts()[sid]; ok {
		return name
	}
	return sid
}

func (w *fake) LookupAccount(name string) (string, error) {
	if sid, ok := strings.CutPrefix(name, "*"); ok {
		return sid, nil
	}
	for sid, known := range accounts() {
		if strings.EqualFold(name, known) || strings.EqualFold(name, known[strings.IndexByte(known, '\\')+1:]) {
			return sid, nil
		}
	}
	return "", errors.New("no such account")
}

type result = programtest.Result

// run runs icacls on a fake; the first argument is its name.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	return programtest.Run(input, func(e program.Env) int { return Run(e, w, args[1:]) })
}

// newFiles makes a folder f with a file a, a folder sub with a file b, and their lists.
func newFiles(t *testing.T) *fake {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("f/sub", 0o755); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"f/a", "f/sub/b"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	const both = filesec.ObjectInherit | filesec.ContainerInherit
	folder := filesec.List{Owner: "S-1-5-18", Entries: []filesec.Entry{
		{Flags: both, Mask: filesec.FullAccess, SID: "S-1-5-32-544"},
		{Flags: both, Mask: filesec.ReadExecute, SID: "S-1-5-32-545"},
		{Flags: both | filesec.InheritOnly, Mask: 0x10000000, SID: "S-1-3-0"},
	}}
	sub := filesec.List{Owner: "S-1-5-18", Entries: folder.Inherit(true, "S-1-5-18")}
	return &fake{lists: map[string]filesec.List{
		"f": folder, "sub": sub,
		"a": {Owner: "S-1-5-18", Entries: folder.Inherit(false, "S-1-5-18")},
		"b": {Owner: "S-1-5-18", Entries: sub.Inherit(false, "S-1-5-18")},
	}}
}

func TestIcacls(t *testing.T) {
	const one, two = "Successfully processed 1 files; Failed processing 0 files\n", "Successfully processed 0 files; Failed processing 1 files\n"
	const inherited = "a BUILTIN\\Administrators:(I)(F)\n  BUILTIN\\Users:(I)(RX)\n  NT AUTHORITY\\SYSTEM:(I)(F)\n\n"
	done := func(name string) string { return "processed file: " + name + "\n" + one }
	for _, tc := range []struct {
		name  string
		lines []string // the last is what is looked at
		want  result
	}{
		{"show", []string{"icacls f/a"}, result{Out: "f/" + strings.ReplaceAll(inherited, "\n  ", "\n    ") + one}},
		{
			"folder", []string{"icacls f"}, result{Out: "f BUILTIN\\Administrators:(OI)(CI)(F)\n  BUILTIN\\Users:(OI)(CI)(RX)\n" +
				"  CREATOR OWNER:(OI)(CI)(IO)(F)\n\n" + one},
		},
		{"missing", []string{"icacls none"}, result{
			Code: 2,
			Out:  two,
			Err:  "none: The system cannot find the file specified.\n",
		}},
		{"no_match", []string{"icacls f/x*"}, result{
			Code: 2,
			Out:  two,
			Err:  "f/x*: The system cannot find the file specified.\n",
		}},
		{"wild", []string{"icacls f/* /q"}, result{Out: "f/a BUILTIN\\Administrators:(I)(F)\n    BUILTIN\\Users:(I)(RX)\n    NT AUTHORITY\\SYSTEM:(I)(F)\n\n" +
			"f/sub BUILTIN\\Administrators:(I)(OI)(CI)(F)\n      BUILTIN\\Users:(I)(OI)(CI)(RX)\n      NT AUTHORITY\\SYSTEM:(I)(F)\n" +
			"      CREATOR OWNER:(I)(OI)(CI)(IO)(F)\n\n"}},
		{"grant", []string{"icacls f/a /grant Users:W"}, result{Out: done("f/a")}},
		{
			"granted",
			[]string{"icacls f/a /grant Everyone:R *S-1-5-32-545:(RD,WD)", "icacls f/a /grant Everyone:W", "icacls f/a"},
			result{Out: "f/a Everyone:(R,W)\n    BUILTIN\\Users:(RD,WD)\n    BUILTIN\\Administrators:(I)(F)\n    BUILTIN\\Users:(I)(RX)\n" +
				"    NT AUTHORITY\\SYSTEM:(I)(F)\n\n" + one},
		},
		{
			"replaced",
			[]string{"icacls f/a /grant Everyone:F", "icacls f/a /grant:r Everyone:R /inheritance:r", "icacls f/a"},
			result{Out: "f/a Everyone:(R)\n\n" + one},
		},
		{
			"denied",
			[]string{"icacls f/a /grant Everyone:M /inheritance:r", "icacls f/a /deny Everyone:W", "icacls f/a"},
			result{Out: "f/a Everyone:(DENY)(W)\n    Everyone:(DE,Rc,RD,REA,X,RA)\n\n" + one},
		},
		{
			"removed",
			[]string{"icacls f/a /inheritance:d", "icacls f/a /remove Users /remove:g SYSTEM /deny Users:D", "icacls f/a /remove:d Users", "icacls f/a"},
			result{Out: "f/a BUILTIN\\Administrators:(F)\n\n" + one},
		},
		{
			"handed_on",
			[]string{"icacls f /grant Everyone:(OI)(CI)(M)", "icacls f/sub/b"},
			result{Out: "f/sub/b BUILTIN\\Administrators:(I)(F)\n        BUILTIN\\Users:(I)(RX)\n        NT AUTHORITY\\SYSTEM:(I)(F)\n" +
				"        Everyone:(I)(M)\n\n" + one},
		},
		{
			"protected_below",
			[]string{"icacls f/sub /inheritance:r /grant Everyone:(OI)(R)", "icacls f /grant Users:(OI)(CI)F", "icacls f/sub/b"},
			result{Out: "f/sub/b Everyone:(I)(R)\n\n" + one},
		},
		{
			"reset",
			[]string{"icacls f/a /inheritance:r /grant Everyone:F", "icacls f/a /reset", "icacls f/a"},
			result{Out: "f/" + strings.ReplaceAll(inherited, "\n  ", "\n    ") + one},
		},
		{"tree", []string{"icacls f /grant Everyone:R /t /q", "icacls f/sub /setowner Administrators", "icacls f/sub/b /setowner Users /t"}, result{Out: done("f/sub/b")}},
		{
			"tree_told",
			[]string{"icacls f /grant Everyone:R /T"},
			result{Out: "processed file: f\nprocessed file: f/a\nprocessed file: f/sub\nprocessed file: f/sub/b\n" +
				"Successfully processed 4 files; Failed processing 0 files\n"},
		},
		{"nobody", []string{"icacls f/a /grant Nobody:R"}, result{
			Code: 1332,
			Out:  two,
			Err:  "Nobody: No mapping between account names and security IDs was done.\n",
		}},
		{"bad_right", []string{"icacls f/a /grant Users:Q"}, result{Code: 87, Err: "Invalid parameter \"Users:Q\"\n"}},
		{"no_right", []string{"icacls f/a /grant Users"}, result{Code: 87, Err: "Invalid parameter \"Users\"\n"}},
		{"no_account", []string{"icacls f/a /grant"}, result{Code: 87, Err: "Invalid parameter \"/grant\"\n"}},
		{"no_account_here", []string{"icacls f/a /deny /t"}, result{Code: 87, Err: "Invalid parameter \"/deny\"\n"}},
		{"save", []string{"icacls f/a /save x"}, result{Code: 87, Err: "Invalid parameter \"/save\"\n"}},
		{"loose", []string{"icacls f/a x"}, result{Code: 87, Err: "Invalid parameter \"x\"\n"}},
		{"open", []string{"icacls f/a /grant Users:(OI"}, result{Code: 87, Err: "Invalid parameter \"Users:(OI\"\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newFiles(t)
			var got result
			for _, line := range tc.lines {
				got = run(t, w, "", strings.Fields(line)...)
			}
			if got != tc.want {
				t.Errorf("%+v\nwant %+v", got, tc.want)
			}
		})
	}
}

// TestIcaclsDenied checks files whose lists may not be read.
func TestIcaclsDenied(t *testing.T) {
	w := newFiles(t)
	delete(w.lists, "a")
	if got := run(t, w, "", "icacls", "f", "/t"); got.Code == 0 || !strings.Contains(got.Err, "a: Access is denied.") ||
		!strings.Contains(got.Out, "processed 1 files; Failed processing 1") {
		t.Errorf("%+v", got)
	}
	if got := run(t, w, "", "icacls", "f", "/t", "/c"); got.Code == 0 || !strings.Contains(got.Out, "processed 3 files; Failed processing 1") {
		t.Errorf("%+v", got)
	}
}

func TestRightsText(t *testing.T) {
	for mask, want := range map[uint32]string{
		0: "N", 0x1f01ff: "F", 0x10000000: "F", 0x1301bf: "M", 0xe0010000: "M", 0x1200a9: "RX", 0x120089: "R", 0x120116: "W,Rc", 0x100116: "W", 0x1201b6: "W,Rc,X,RA", 0x110000: "D",
		0x12019f: "R,W", 0x1201bf: "RX,W", 0x20000: "Rc", 0x100001: "S,RD", 4: "AD", 0x1200ab: "RX,WD",
	} {
		if got := rightsText(mask); got != want {
			t.Errorf("%#x: %s, want %s", mask, got, want)
		}
	}
}
