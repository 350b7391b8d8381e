package fileops

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/lineedit"
)

// TestTyped: what is typed at a console is a file until it is ended, and none after Ctrl+C.
func TestTyped(t *testing.T) {
	for _, tt := range []struct {
		command, args string
		end           error
		file, out     string
		code          int32
	}{
		{"copy", " con new", io.EOF, "one\r\ntwo\r\nlast", "        1 file(s) copied.\n", 0},
		{"copy", " con new", lineedit.ErrInterrupted, "", "        0 file(s) copied.\n", 1},
		{"type", " con", io.EOF, "", "one\ntwo\nlast", 0},
	} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "C", "w"), 0o700); err != nil {
			t.Fatal(err)
		}
		lines := []string{"one", "two", "last"}
		var out, errs bytes.Buffer
		e := &Env{
			Disk: disk.Disk{Root: root}, System: windows{}, Dir: `C:\w`, Out: &out, Err: &errs,
			Full: func(name string) string {
				return disk.Full(name, `C:\w`, func(drive byte) string { return string([]byte{drive}) + `:\` })
			},
			Line: func() (string, error) {
				line := lines[0]
				if lines = lines[1:]; len(lines) == 0 {
					return line, tt.end
				}
				return line, nil
			},
			Stopped: func() bool { return false },
			Default: func(string) string { return "" },
		}

		code := Commands()[tt.command](e, tt.args)
		if code != tt.code || clean(out.String()) != tt.out || errs.Len() > 0 {
			t.Errorf("%s%s, %v: %d, %q, %q", tt.command, tt.args, tt.end, code, out.String(), errs.String())
		}
		if text, err := os.ReadFile(filepath.Join(root, "C", "w", "new")); string(text) != tt.file || (err == nil) != (tt.file != "") {
			t.Errorf("%s%s, %v: the file has %q, %v", tt.command, tt.args, tt.end, text, err)
		}
	}
}
