package junction

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"
)

// TestData reads the structure back by its description
// (https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_reparse_data_buffer).
func TestData(t *testing.T) {
	for given, shown := range map[string]string{`C:\a b`: `C:\a b`, `\\?\C:\ü`: `C:\ü`} {
		d := data(given)
		at16 := func(at int) int { return int(binary.LittleEndian.Uint16(d[at:])) }
		if tag := binary.LittleEndian.Uint32(d); tag != 0xA0000003 {
			t.Errorf("%s: tag %#x", given, tag)
		}
		if got := at16(4); got != len(d)-headBytes {
			t.Errorf("%s: %d bytes, and it says %d", given, len(d)-headBytes, got)
		}

		text := func(at, size int) string {
			var units []uint16
			for i := range size / 2 {
				units = append(units, uint16(at16(headBytes+namesBytes+at+2*i)))
			}
			return string(utf16.Decode(units))
		}
		if got, want := text(at16(8), at16(10)), `\??\`+shown; got != want {
			t.Errorf("%s: the kernel's name is %q, want %q", given, got, want)
		}
		if got := text(at16(12), at16(14)); got != shown {
			t.Errorf("%s: the name that is shown is %q", given, got)
		}
	}
}
