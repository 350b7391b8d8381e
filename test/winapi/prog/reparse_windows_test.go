package prog

import (
	"encoding/binary"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	fileAttributeTagInfo = 9 // FILE_INFO_BY_HANDLE_CLASS of winbase.h
	openLink             = windows.FILE_FLAG_BACKUP_SEMANTICS | windows.FILE_FLAG_OPEN_REPARSE_POINT
)

func open(t *testing.T, name string, access, flags uint32) windows.Handle {
	t.Helper()
	p, err := windows.UTF16PtrFromString(name)
	if err != nil {
		t.Fatal(err)
	}
	share := uint32(windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE)
	h, err := windows.CreateFile(p, access, share, nil, windows.OPEN_EXISTING, flags, 0)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	t.Cleanup(func() { _ = windows.CloseHandle(h) })
	return h
}

// attributeTag returns the attributes and the reparse tag of an open file.
func attributeTag(t *testing.T, h windows.Handle) (attributes, tag uint32) {
	t.Helper()
	var info [2]uint32
	if err := windows.GetFileInformationByHandleEx(h, fileAttributeTagInfo, (*byte)(unsafe.Pointer(&info)),
		8); err != nil {
		t.Fatal(err)
	}
	return info[0], info[1]
}

// mountPoint returns the FSCTL_SET_REPARSE_POINT buffer of a junction ([MS-FSCC] 2.1.2.5).
func mountPoint(target string) []byte {
	substitute, printed := utf16.Encode([]rune(`\??\`+target)), utf16.Encode([]rune(target))
	var names []byte
	for _, c := range append(append(append(append([]uint16{}, substitute...), 0), printed...), 0) {
		names = binary.LittleEndian.AppendUint16(names, c)
	}
	b := binary.LittleEndian.AppendUint32(nil, windows.IO_REPARSE_TAG_MOUNT_POINT)
	for _, n := range []int{8 + len(names), 0, 0, 2 * len(substitute), 2*len(substitute) + 2, 2 * len(printed)} {
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
	}
	return append(b, names...)
}

func TestOpenReparsePoint(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "hello")
	link := symlink(t, "file", filepath.Join(dir, "link"))

	attributes, tag := attributeTag(t, open(t, link, 0, openLink))
	if attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT == 0 || tag != windows.IO_REPARSE_TAG_SYMLINK {
		t.Errorf("the link itself: attributes %#x, tag %#x", attributes, tag)
	}
	attributes, _ = attributeTag(t, open(t, link, windows.GENERIC_READ, windows.FILE_FLAG_BACKUP_SEMANTICS))
	if attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		t.Errorf("the target: attributes %#x", attributes)
	}

	attributes, tag = attributeTag(t, open(t, filepath.Join(dir, "file"), 0, openLink))
	if attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 || tag != 0 {
		t.Errorf("a plain file: attributes %#x, tag %#x", attributes, tag)
	}
	p, err := windows.UTF16PtrFromString(link)
	if err != nil {
		t.Fatal(err)
	}

	if got, err := windows.GetFileAttributes(p); err != nil || got&windows.FILE_ATTRIBUTE_REPARSE_POINT == 0 {
		t.Errorf("GetFileAttributes: got %#x, %v", got, err)
	}
}

// FileStatInformation is what GetFileInformationByHandle of Wine 10 asks for; Wine 8 has it not of itself.
func TestStatInformation(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}

	defer l.Close()

	query := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtQueryInformationFile")
	const afUnix = 0x80000023 // IO_REPARSE_TAG_AF_UNIX
	for name, want := range map[string]uint32{
		link: windows.IO_REPARSE_TAG_SYMLINK, filepath.Join(dir, "socket"): afUnix,
	} {
		h := open(t, name, windows.FILE_READ_ATTRIBUTES, openLink)
		var io windows.IO_STATUS_BLOCK
		var info struct {
			id                                                int64
			creation, access, write, change, allocation, size int64
			attributes, tag, links, rights                    uint32
		}

		const class = 68
		status, _, _ := query.Call(uintptr(h), uintptr(unsafe.Pointer(&io)), uintptr(unsafe.Pointer(&info)),
			unsafe.Sizeof(info), class)
		if status != 0 || info.attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT == 0 || info.tag != want ||
			info.write == 0 {
			t.Errorf("%s: status %x, %+v", name, status, info)
		}

		var by windows.ByHandleFileInformation
		if err := windows.GetFileInformationByHandle(h, &by); err != nil || by.FileAttributes != info.attributes {
			t.Errorf("%s: GetFileInformationByHandle gives attributes %x, %v", name, by.FileAttributes, err)
		}
	}
}

func TestLinkHandleDuplicate(t *testing.T) {
	dir := t.TempDir()
	link := symlink(t, "none", filepath.Join(dir, "link"))
	p, err := windows.UTF16PtrFromString(link)
	if err != nil {
		t.Fatal(err)
	}

	h, err := windows.CreateFile(p, 0, 0, nil, windows.OPEN_EXISTING, openLink, 0)
	if err != nil {
		t.Fatal(err)
	}
	var dup windows.Handle
	self := windows.CurrentProcess()
	if err := windows.DuplicateHandle(self, h, self, &dup, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		t.Fatal(err)
	}

	if err := windows.CloseHandle(h); err != nil {
		t.Fatal(err)
	}
	if _, tag := attributeTag(t, dup); tag != windows.IO_REPARSE_TAG_SYMLINK {
		t.Errorf("tag of the duplicate: got %#x", tag)
	}
	if err := windows.CloseHandle(dup); err != nil {
		t.Fatal(err)
	}

	// The value of a closed handle is used again: it must not be taken for the link.
	for range 64 {
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if attributes, _ := attributeTag(t,
			windows.Handle(f.Fd())); attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
			t.Fatal("a folder's handle passes for a link")
		}
		f.Close()
	}
}

func TestFinalPath(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "hello")
	link := symlink(t, "file", filepath.Join(dir, "link"))
	final := func(flags uint32) string {
		buffer := make([]uint16, 1024)
		n, err := windows.GetFinalPathNameByHandle(open(t, link, 0, flags), &buffer[0], 1024, 0)
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Base(windows.UTF16ToString(buffer[:n]))
	}

	if got := final(openLink); got != "link" {
		t.Errorf("of the link itself: got %q", got)
	}
	if got := final(windows.FILE_FLAG_BACKUP_SEMANTICS); got != "file" {
		t.Errorf("of the target: got %q", got)
	}
}

func TestJunction(t *testing.T) {
	dir := t.TempDir()
	target := mkdir(t, filepath.Join(dir, "target"))
	write(t, filepath.Join(target, "file"), "hello")
	junction := mkdir(t, filepath.Join(dir, "junction"))
	h := open(t, junction, windows.GENERIC_WRITE, openLink)
	buffer := mountPoint(target)
	var n uint32
	if err := windows.DeviceIoControl(h, windows.FSCTL_SET_REPARSE_POINT, &buffer[0], uint32(len(buffer)), nil, 0, &n,
		nil); err != nil {
		t.Fatal(err)
	}

	wantContent(t, filepath.Join(junction, "file"), "hello")
	wantTarget(t, junction, target)
	attributes, tag := attributeTag(t, open(t, junction, 0, openLink))
	if tag != windows.IO_REPARSE_TAG_MOUNT_POINT || attributes&windows.FILE_ATTRIBUTE_DIRECTORY == 0 {
		t.Errorf("attributes %#x, tag %#x", attributes, tag)
	}
	if got := lmode(t, junction); got != fs.ModeIrregular {
		t.Errorf("lstat: got %v, want irregular as on Windows", got)
	}

	if err := os.RemoveAll(junction); err != nil {
		t.Fatal(err)
	}
	wantGone(t, junction)
	wantContent(t, filepath.Join(target, "file"), "hello")
}

func TestDeleteReparsePoint(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "target"))
	link := symlink(t, "target", filepath.Join(dir, "link"))
	h := open(t, link, windows.GENERIC_WRITE, openLink)
	header := binary.LittleEndian.AppendUint64(nil, windows.IO_REPARSE_TAG_SYMLINK)
	var n uint32
	if err := windows.DeviceIoControl(h, windows.FSCTL_DELETE_REPARSE_POINT, &header[0], 8, nil, 0, &n,
		nil); err != nil {
		t.Fatal(err)
	}
	if got := lmode(t, link); got != fs.ModeDir {
		t.Errorf("lstat: got %v, want a folder", got)
	}
}

func TestSameFileThroughLink(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "file"), "x")
	link := symlink(t, "file", filepath.Join(dir, "link"))
	a, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}

	b, err := os.Stat(link)
	if err != nil {
		t.Fatal(err)
	}
	c, err := os.Lstat(link)
	if err != nil {
		t.Fatal(err)
	}

	if !os.SameFile(a, b) || os.SameFile(a, c) {
		t.Errorf("SameFile: target %v (want true), link itself %v (want false)", os.SameFile(a, b), os.SameFile(a, c))
	}
}
