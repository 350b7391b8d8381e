package tools

import (
	"encoding/binary"
	"errors"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// utf16Bytes is a text in UTF-16.
func utf16Bytes(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func TestWMIC(t *testing.T) {
	args := []string{"wmic", "bios", "get", "serialnumber"}
	for name, tc := range map[string]struct {
		system fake
		want   result
	}{
		"pipe":   {fake{piped: true}, result{7, "SerialNumber\nbios get serialnumber ?\n", ""}},
		"broken": {fake{piped: true, err: errors.New("no wmic1.exe")}, result{1, "", "wmic: no wmic1.exe\n"}},
		"file": {fake{}, result{
			7, string(utf16Bytes("\ufeffSerialNumber\r\nbios get serialnumber é\r\n")), "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, run(t, &tc.system, "", args...), cmp.AllowUnexported(result{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := inConsolesPage([]byte("plain \xff")); got != "plain \xff" {
		t.Errorf("text without a mark: %q", got)
	}
	if got := inConsolesPage([]byte("\xff\xfea\x00b")); got != "a" {
		t.Errorf("half a character: %q", got)
	}
}
