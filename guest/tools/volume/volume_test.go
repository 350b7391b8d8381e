package volume

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// fake is a Windows with one volume, whose label can be set unless it is locked.
type fake struct {
	volume  Volume
	missing bool
	locked  error
	deaf    bool // it takes a label, and shows none
	set     []string
}

func (f *fake) Volume(root string) (Volume, error) {
	if f.missing || strings.HasPrefix(root, "X:") {
		return Volume{}, errors.New("no such drive")
	}
	return f.volume, nil
}

func (f *fake) SetLabel(_, label string) error {
	f.set = append(f.set, label)
	if f.locked == nil && !f.deaf {
		f.volume.Label = label
	}
	return f.locked
}

func one() *fake {
	return &fake{volume: Volume{
		Label:      "System",
		FileSystem: "NTFS",
		Serial:     0x1234ABCD,
	}}
}

// place makes the files that the tests list, and changes to their folder.
func place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	programtest.Write(t, dir, map[string]string{"b.txt": "x", "a.txt": "x", "one/x": "", "one/deep/y": "", "two/z": ""})
	if err := os.Mkdir(filepath.Join(dir, "zero"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("one", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	return dir
}

const head = "Folder PATH listing for volume System\nVolume serial number is 1234-ABCD\n"

// TestTree draws the tree of the documents' switches
// (https://learn.microsoft.com/windows-server/administration/windows-commands/tree).
func TestTree(t *testing.T) {
	dir := place(t)
	upper := strings.ToUpper(dir)
	for line, want := range map[string]programtest.Result{
		"":   {Out: head + "C:.\n├───link\n├───one\n│   └───deep\n├───two\n└───zero\n"},
		"/a": {Out: head + "C:.\n+---link\n+---one\n|   \\---deep\n+---two\n\\---zero\n"},
		"/F": {Out: head + "C:.\n│   a.txt\n│   b.txt\n│   \n├───link\n├───one\n│   │   x\n│   │   \n│   └───deep\n│           y\n│           \n" +
			"├───two\n│       z\n│       \n└───zero\n"},
		"one/deep /f/a": {Out: head + upper + "/ONE/DEEP\n    y\n    \nNo subfolders exist \n\n"},
		"zero":          {Out: head + upper + "/ZERO\nNo subfolders exist \n\n"},
		"none":          {Code: 1, Out: head + upper + "/NONE\nInvalid path - " + upper + "/NONE\nNo subfolders exist \n\n"},
		"a.txt":         {Code: 1, Out: head + upper + "/A.TXT\nInvalid path - " + upper + "/A.TXT\nNo subfolders exist \n\n"},
		"/x":            {Code: 1, Err: "Invalid switch - /x\n"},
		"one two":       {Code: 1, Err: "Too many parameters - two\n"},
	} {
		got := programtest.Run("", func(e program.Env) int { return Tree(e, one(), strings.Fields(line)) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tree %s (-want +got):\n%s", line, diff)
		}
	}

	plain := &fake{volume: Volume{Serial: 1}}
	got := programtest.Run("", func(e program.Env) int { return Tree(e, plain, nil) })
	if !strings.HasPrefix(got.Out, "Folder PATH listing\nVolume serial number is 0000-0001\nC:.\n") {
		t.Errorf("without a label: %+v", got)
	}
	got = programtest.Run("", func(e program.Env) int { return Tree(e, &fake{missing: true}, nil) })
	if want := (programtest.Result{Code: 1, Err: "Invalid drive specification\n"}); got != want {
		t.Errorf("without a drive: %+v", got)
	}
}

// TestLabel has the questions of label's page
// (https://learn.microsoft.com/windows-server/administration/windows-commands/label).
func TestLabel(t *testing.T) {
	const shown = "Volume in drive C: is System\nVolume Serial Number is 1234-ABCD\nVolume label (32 characters, ENTER for none)? "
	for _, tt := range []struct {
		line, input string
		want        programtest.Result
		label       string
	}{
		{"", "", programtest.Result{Out: shown + "\n"}, "System"},
		{"", "New\r\n", programtest.Result{Out: shown}, "New"},
		{"", "\r\ny\r\n", programtest.Result{Out: shown + "\nDelete current volume label (Y/N)? "}, ""},
		{"", "\r\nn\r\n", programtest.Result{Out: shown + "\nDelete current volume label (Y/N)? "}, "System"},
		{"c:", "", programtest.Result{Out: shown + "\n"}, "System"},
		{"c:Data disk", "", programtest.Result{}, "Data disk"},
		{"c: Data", "", programtest.Result{}, "Data"},
		{"Data", "", programtest.Result{}, "Data"},
		{"/mp c: Data", "", programtest.Result{}, "Data"},
		{"a*b", "", programtest.Result{
			Code: 1, Err: "Cannot change label. This volume label is not valid.\nThe volume label syntax is incorrect.\n",
		}, "System"},
		{strings.Repeat("x", 33), "", programtest.Result{
			Code: 1, Err: "Cannot change label. This volume label is not valid.\nThe volume label syntax is incorrect.\n",
		}, "System"},
		{"x: Data", "", programtest.Result{Code: 1, Err: "The drive specified is invalid, or there is no disk in the drive.\n"}, "System"},
		{"1: Data", "", programtest.Result{Code: 1, Err: "Invalid drive specification\n"}, "System"},
	} {
		f := one()
		got := programtest.Run(tt.input, func(e program.Env) int { return Label(e, f, strings.Fields(tt.line)) })
		if f.volume.Label != tt.label {
			t.Errorf("label %s: the label is %q, want %q", tt.line, f.volume.Label, tt.label)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("label %s (-want +got):\n%s", tt.line, diff)
		}
	}

	locked := one()
	locked.locked = fs.ErrPermission
	got := programtest.Run("", func(e program.Env) int { return Label(e, locked, []string{"Data"}) })
	want := programtest.Result{Code: 1, Err: "Cannot change label. Access is denied.\n"}
	if got != want {
		t.Errorf("a volume that may not be changed: %+v", got)
	}

	deaf := one()
	deaf.deaf = true
	got = programtest.Run("", func(e program.Env) int { return Label(e, deaf, []string{"Data"}) })
	if diff := cmp.Diff([]string{"Data", "System"}, deaf.set); got != want || diff != "" {
		t.Errorf("a volume that takes a label and shows another one: %+v, set to %q", got, deaf.set)
	}
}

// TestChkdsk checks that nothing is said to have been checked
// (https://learn.microsoft.com/windows-server/administration/windows-commands/chkdsk).
func TestChkdsk(t *testing.T) {
	place(t)
	denied := "Access Denied as you do not have sufficient privileges or\nthe disk may be locked by another process\n" +
		"You have to invoke this utility running in elevated mode\nand make sure the disk is unlocked.\n"
	for line, out := range map[string]string{
		"":       "The type of the file system is NTFS.\nCannot open volume for direct access.\n",
		"c: /v":  "The type of the file system is NTFS.\nCannot open volume for direct access.\n",
		"C: /f":  denied,
		"/scan":  "The type of the file system is NTFS.\nCannot open volume for direct access.\n",
		"/z":     "Invalid parameter - /z\n",
		"x:":     "The drive, the path, or the file name is not valid.\n",
		"none.x": "Cannot open volume for direct access.\n",
	} {
		got := programtest.Run("", func(e program.Env) int { return Chkdsk(e, one(), strings.Fields(line)) })
		if diff := cmp.Diff(programtest.Result{Code: exitUnchecked, Out: out}, got); diff != "" {
			t.Errorf("chkdsk %s (-want +got):\n%s", line, diff)
		}
	}
}

// TestCipher lists files, none of which is encrypted
// (https://learn.microsoft.com/windows-server/administration/windows-commands/cipher).
func TestCipher(t *testing.T) {
	dir := place(t)
	listed := func(folder string, names ...string) string {
		text := "\n Listing " + dir + folder + "\n New files added to this directory will not be encrypted.\n\n"
		for _, n := range names {
			text += "U " + n + "\n"
		}
		return text
	}
	for line, want := range map[string]programtest.Result{
		"":        {Out: listed("/", "a.txt", "b.txt", "link", "one", "two", "zero")},
		"*.txt":   {Out: listed("/", "a.txt", "b.txt")},
		"/s:one":  {Out: listed("/one/", "deep", "x") + listed("/one/deep/", "y")},
		"/c two":  {Out: listed("/", "two")},
		"/e a*":   {Code: 1, Out: "\n Encrypting files in " + dir + "/\n\na.txt          [ERR]\na.txt: " + errNoEncryption + "\n"},
		"/d a*":   {Out: "\n Decrypting files in " + dir + "/\n\na.txt          [OK]\n"},
		"none":    {Code: 1, Err: "none: The system cannot find the file specified.\n"},
		"/w:C:\\": {Code: 1, Err: errNoEncryption + "\n"},
		"/zz":     {Code: 1, Err: "/zz: Invalid parameter\n"},
	} {
		got := programtest.Run("", func(e program.Env) int { return Cipher(e, strings.Fields(line)) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cipher %s (-want +got):\n%s", line, diff)
		}
	}
}
