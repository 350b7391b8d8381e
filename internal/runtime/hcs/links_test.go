package hcs

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestTargetOf: a link of Linux is one of Windows, as programs of a container make them (guest/c/hooks/linktext.c).
func TestTargetOf(t *testing.T) {
	for text, want := range map[string]struct {
		path             string
		relative, folder bool
	}{
		"keep":                          {"keep", true, false},
		"../second/dir/":                {`..\second\dir`, true, true},
		"../dosdevices/c:/APP/x":        {`C:\APP\x`, false, false},
		"../../dosdevices/c:/APP/":      {`C:\APP`, false, true},
		"../dosdevices/./c:/APP/":       {`C:\APP`, false, true},
		"../dosdevices/c:/":             {`C:\`, false, true},
		"../dosdevices/c:":              {`C:\`, false, false},
		"./a":                           {`.\a`, true, false},
		"a dosdevices/c:x/not a prefix": {"", false, false},
	} {
		got, folder, err := targetOf(text)
		if want.path == "" {
			if err == nil {
				t.Errorf("the link to %q is taken", text)
			}
			continue
		}
		if err != nil || got.path != want.path || got.relative != want.relative || folder != want.folder {
			t.Errorf("%q is %+v, %v, %v", text, got, folder, err)
		}

		again, err := parseReparse(got.encode())
		if err != nil || again != got {
			t.Errorf("%+v is read as %+v, %v", got, again, err)
		}
	}

	for _, text := range []string{
		"/etc/passwd", "../dosdevices/d:/x", "../dosdevices/unc/server/share/", "../dosdevices/volume{x}/", "a\nb", "a*b", `a\b`,
		"../dosdevices/c:x",
	} {
		if got, _, err := targetOf(text); err == nil {
			t.Errorf("the link to %q is %+v", text, got)
		}
	}
}

// TestParseReparse reads what Windows writes, and refuses what is none.
func TestParseReparse(t *testing.T) {
	// A junction as go-winio encodes it: names with their ends, the second one empty.
	name := utf16.Encode([]rune(`\??\C:\Users`))
	data := []byte{0, 0, byte(2 * len(name)), 0, byte(2*len(name) + 2), 0, 0, 0}
	for _, unit := range append(name, 0, 0) {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	junction := binary.LittleEndian.AppendUint32(nil, tagMountPoint)
	junction = append(binary.LittleEndian.AppendUint32(junction, uint32(len(data))), data...)
	if got, err := parseReparse(junction); err != nil || got.path != `C:\Users` || got.relative {
		t.Errorf("the junction is %+v, %v", got, err)
	}

	whole := target{path: "x", relative: true}.encode()
	for n := range len(whole) {
		if got, err := parseReparse(whole[:n]); err == nil {
			t.Errorf("the first %d bytes are %+v", n, got)
		}
	}
	for _, to := range []string{`D:\x`, `\\server\share`, `Volume{1}\`, `C:x`} {
		if got, err := parseReparse((target{path: to}).encode()); err == nil {
			t.Errorf("the link to %s is %+v", to, got)
		}
	}
	if got, err := parseReparse((target{relative: true}).encode()); err == nil {
		t.Errorf("the link to nothing is %+v", got)
	}
	other := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(other, 0x80000023) // a socket
	if got, err := parseReparse(other); err == nil {
		t.Errorf("a socket is %+v", got)
	}
}

// FuzzReparse reads reparse points of programs of the host: what is taken leads to names below C:.
func FuzzReparse(f *testing.F) {
	f.Add(target{path: `..\x`, relative: true}.encode(), "Files/a")
	f.Add(target{path: `C:\x`}.encode(), "Files")
	f.Add([]byte{3, 0, 0, 0xa0, 8, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, "Files")
	f.Fuzz(func(t *testing.T, point []byte, folder string) {
		to, err := parseReparse(point)
		if err != nil {
			return
		}
		parts, err := to.parts(filepath.Join(files, folder))
		if err != nil {
			return
		}
		at := filepath.Join(append([]string{files}, parts...)...)
		if at != files && !strings.HasPrefix(at, files+"/") {
			t.Errorf("%q from %q leads to %q", to.path, folder, at)
		}
	})
}
