package prog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/base/testrun"
)

const (
	// inFolder and inFile are what C:\ hands down to what administrators make below it (BA: BUILTIN\Administrators, SY:
	// NT AUTHORITY\SYSTEM, BU: BUILTIN\Users, CO: CREATOR OWNER;
	// https://learn.microsoft.com/windows/win32/secauthz/ace-strings).
	inFolder = "(A;OICIID;FA;;;BA)(A;OICIID;FA;;;SY)(A;ID;FA;;;BA)(A;OICIIOID;GA;;;CO)(A;OICIID;0x1200a9;;;BU)(A;CIID;0x4;;;BU)(A;CIID;0x2;;;BU)"
	inFile   = "(A;ID;FA;;;BA)(A;ID;FA;;;SY)(A;ID;0x1200a9;;;BU)"
)

const everyPart = windows.OWNER_SECURITY_INFORMATION | windows.GROUP_SECURITY_INFORMATION |
	windows.DACL_SECURITY_INFORMATION

// descriptor returns a file's descriptor as text, with rights that Windows has words for as numbers.
func descriptor(t *testing.T, path string) string {
	t.Helper()
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, everyPart)
	if err != nil {
		t.Fatalf("descriptor of %s: %v", path, err)
	}
	return strings.NewReplacer(";LC;", ";0x4;", ";DC;", ";0x2;", ";CCDC;", ";0x3;").Replace(sd.String())
}

func wantDescriptor(t *testing.T, path, want string) {
	t.Helper()
	if got := descriptor(t, path); got != want {
		t.Errorf("descriptor of %s:\n got %s\nwant %s", path, got, want)
	}
}

// setList sets a list of access rights by name, as the kubelet does.
func setList(t *testing.T, path, text string, info windows.SECURITY_INFORMATION) {
	t.Helper()
	sd, err := windows.SecurityDescriptorFromString(text)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := sd.DACL()
	if err != nil {
		t.Fatal(err)
	}
	if err := windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION|info, nil,
		nil, list, nil); err != nil {
		t.Fatalf("set the list of %s: %v", path, err)
	}
}

func writeEmpty(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestListsOfNewFiles(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	wantDescriptor(
		t, `C:\`, "O:BAG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;OICIIO;GA;;;CO)(A;OICI;0x1200a9;;;BU)(A;CI;0x4;;;BU)(A;CIIO;0x2;;;BU)(A;;0x1200a9;;;WD)")
	wantDescriptor(t, dir, "O:BAG:SYD:AI"+inFolder)
	wantDescriptor(t, sub, "O:BAG:SYD:AI"+inFolder)
	wantDescriptor(t, writeEmpty(t, filepath.Join(sub, "file")), "O:BAG:SYD:AI"+inFile)
}

func TestSetsLists(t *testing.T) {
	dir := t.TempDir()
	file := writeEmpty(t, filepath.Join(dir, "file"))

	setList(t, file, "D:(A;;FR;;;WD)", 0)
	wantDescriptor(t, file, "O:BAG:SYD:AI(A;;FR;;;WD)"+inFile)

	setList(t, file, "D:(A;;FA;;;BA)(A;;;;;BU)", windows.PROTECTED_DACL_SECURITY_INFORMATION)
	wantDescriptor(t, file, "O:BAG:SYD:PAI(A;;FA;;;BA)")

	setList(t, file, "D:(A;;FR;;;WD)", windows.UNPROTECTED_DACL_SECURITY_INFORMATION)
	wantDescriptor(t, file, "O:BAG:SYD:AI(A;;FR;;;WD)"+inFile)

	setList(t, dir, "D:(A;OICI;FA;;;BA)(A;OINP;FR;;;AU)(A;OI;FX;;;WD)", windows.PROTECTED_DACL_SECURITY_INFORMATION)
	wantDescriptor(t, dir, "O:BAG:SYD:PAI(A;OICI;FA;;;BA)(A;OINP;FR;;;AU)(A;OI;FX;;;WD)")
	wantDescriptor(t, file, "O:BAG:SYD:AI(A;;FR;;;WD)(A;ID;FA;;;BA)(A;ID;FR;;;AU)(A;ID;FX;;;WD)")
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	wantDescriptor(t, sub, "O:BAG:SYD:AI(A;OICIID;FA;;;BA)(A;OIIOID;FX;;;WD)")

	moved := filepath.Join(dir, "moved")
	if err := os.Rename(file, moved); err != nil {
		t.Fatal(err)
	}
	wantDescriptor(t, moved, "O:BAG:SYD:AI(A;;FR;;;WD)(A;ID;FA;;;BA)(A;ID;FR;;;AU)(A;ID;FX;;;WD)")
}

// TestSetsListAlone sets a list on a handle, which lets nothing be inherited.
func TestSetsListAlone(t *testing.T) {
	file := writeEmpty(t, filepath.Join(t.TempDir(), "file"))
	sd, err := windows.SecurityDescriptorFromString("D:(A;;GR;;;WD)")
	if err != nil {
		t.Fatal(err)
	}

	open := func(access uint32) windows.Handle {
		t.Helper()
		h, err := windows.CreateFile(windows.StringToUTF16Ptr(file), access, windows.FILE_SHARE_READ, nil,
			windows.OPEN_EXISTING, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = windows.CloseHandle(h) })
		return h
	}

	if err := windows.SetKernelObjectSecurity(open(windows.READ_CONTROL), windows.DACL_SECURITY_INFORMATION, sd); err != windows.ERROR_ACCESS_DENIED { //nolint:errorlint // the system's own, as it is
		t.Errorf("a handle that may only be asked lets itself be set: %v", err)
	}
	if err := windows.SetKernelObjectSecurity(open(windows.WRITE_DAC), windows.DACL_SECURITY_INFORMATION,
		sd); err != nil {
		t.Fatal(err)
	}
	wantDescriptor(t, file, "O:BAG:SYD:(A;;FR;;;WD)")
}

func TestSetsOwner(t *testing.T) {
	file := writeEmpty(t, filepath.Join(t.TempDir(), "file"))
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	admins, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		t.Fatal(err)
	}

	const info = windows.OWNER_SECURITY_INFORMATION | windows.GROUP_SECURITY_INFORMATION
	if err := windows.SetNamedSecurityInfo(file, windows.SE_FILE_OBJECT, info, user.User.Sid, admins, nil,
		nil); err != nil {
		t.Fatal(err)
	}
	sd, err := windows.GetNamedSecurityInfo(file, windows.SE_FILE_OBJECT, everyPart)
	if err != nil {
		t.Fatal(err)
	}

	owner, _, err := sd.Owner()
	if err != nil || !owner.Equals(user.User.Sid) {
		t.Errorf("owner: got %s, %v, want %s", owner, err, user.User.Sid)
	}
	group, _, err := sd.Group()
	if err != nil || !group.Equals(admins) {
		t.Errorf("group: got %s, %v, want %s", group, err, admins)
	}

	if !strings.Contains(sd.String(), "(A;ID;FA;;;"+user.User.Sid.String()+")") &&
		!strings.Contains(sd.String(), "(A;ID;FA;;;LA)") {
		t.Errorf("what CREATOR OWNER has is not the owner's: %s", sd)
	}
}

func TestMakesFilesWithLists(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, given, want string }{
		{"protected", "D:P(A;OICI;GA;;;BA)(A;OICI;GR;;;WD)", "O:BAG:SYD:PAI(A;;FA;;;BA)(A;OICIIO;GA;;;BA)(A;;FR;;;WD)(A;OICIIO;GR;;;WD)"},
		{
			"inherits", "O:BUG:BUD:(A;;GR;;;WD)",
			"O:BUG:BUD:AI(A;;FR;;;WD)" + strings.Replace(inFolder, "(A;ID;FA;;;BA)", "(A;ID;FA;;;BU)", 1),
		},
	} {
		sd, err := windows.SecurityDescriptorFromString(tt.given)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, tt.name)
		sa := windows.SecurityAttributes{Length: 24, SecurityDescriptor: sd}
		if err := windows.CreateDirectory(windows.StringToUTF16Ptr(path), &sa); err != nil {
			t.Fatal(err)
		}

		wantDescriptor(t, path, tt.want)
	}
}

// TestListsOfLinks asks for a link's own descriptor, which is that of any new file, and its target's.
func TestListsOfLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := writeEmpty(t, filepath.Join(dir, "file")), filepath.Join(dir, "link")
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}

	setList(t, link, "D:(A;;FA;;;BA)", windows.PROTECTED_DACL_SECURITY_INFORMATION)
	wantDescriptor(t, file, "O:BAG:SYD:PAI(A;;FA;;;BA)")
	h, err := windows.CreateFile(windows.StringToUTF16Ptr(link), windows.READ_CONTROL|windows.WRITE_DAC,
		windows.FILE_SHARE_READ, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(h)

	sd, err := windows.GetSecurityInfo(h, windows.SE_FILE_OBJECT, everyPart)
	if err != nil {
		t.Fatal(err)
	}
	if want := "O:BAG:SYD:AI" + inFile; sd.String() != want {
		t.Errorf("the link's own: got %s, want %s", sd, want)
	}

	if err := windows.SetKernelObjectSecurity(h, windows.DACL_SECURITY_INFORMATION, sd); err != windows.ERROR_NOT_SUPPORTED { //nolint:errorlint // the system's own, as it is
		t.Errorf("setting the link's own: got %v, want %v", err, windows.ERROR_NOT_SUPPORTED)
	}
}

// TestListsThatLinuxLeft asks for the descriptors of files that a Linux program has made, one with an attribute that is
// none of ours.
func TestListsThatLinuxLeft(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	linuxPeer(t)
	wantDescriptor(t, `C:\linux-folder\file`, "O:BAG:SYD:AI"+inFile)
	wantDescriptor(t, `C:\linux-folder\damaged`, "O:BAG:SYD:AI"+inFile)
}

// TestLeavesLists sets what package winapi looks at from Linux.
func TestLeavesLists(t *testing.T) {
	linuxPeer(t)
	for name, list := range map[string]string{
		"open": "D:(A;;FA;;;BU)", "closed": "D:(A;;FA;;;BA)(A;;FA;;;SY)", "read": "D:(A;;FR;;;BA)(A;;FR;;;BU)",
		"denied":  "D:(D;;FW;;;BU)(A;;FA;;;WD)",
		"written": "D:(A;;FA;;;BA)(A;;FR;;;BU)",
		// as the kubelet's Chmod(0o750)
		"grouped": "D:(A;OICI;FA;;;BA)(A;OICI;FRFX;;;SY)(A;OICI;;;;BU)",
	} {
		setList(t, writeEmpty(t, `C:\lists-`+os.Getenv("WINAPI_LISTS")+name), list,
			windows.PROTECTED_DACL_SECURITY_INFORMATION)
		// a file that may not be written too
		setList(t, `C:\lists-`+os.Getenv("WINAPI_LISTS")+name, list, windows.PROTECTED_DACL_SECURITY_INFORMATION)
	}
}
