package smb

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/cloudsoda/sddl"
)

// documented is the example of MS-DTYP 2.5.1.4, O:BAG:BAD:P(A;CIOI;GRGX;;;BU)…S:P(AU;FA;GR;;;WD)
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/2918391b-75b9-4eeb-83f0-7fdc04a5c6c9). Its SACL is
// at byte 0x14, its DACL of four entries at 0x30, its owner at 0x90, and its group at 0xa0.
const documented = `
01 00 14 b0 90 00 00 00 a0 00 00 00 14 00 00 00
30 00 00 00 02 00 1c 00 01 00 00 00 02 80 14 00
00 00 00 80 01 01 00 00 00 00 00 01 00 00 00 00
02 00 60 00 04 00 00 00 00 03 18 00 00 00 00 a0
01 02 00 00 00 00 00 05 20 00 00 00 21 02 00 00
00 03 18 00 00 00 00 10 01 02 00 00 00 00 00 05
20 00 00 00 20 02 00 00 00 03 14 00 00 00 00 10
01 01 00 00 00 00 00 05 12 00 00 00 00 03 14 00
00 00 00 10 01 01 00 00 00 00 00 03 00 00 00 00
01 02 00 00 00 00 00 05 20 00 00 00 20 02 00 00
01 02 00 00 00 00 00 05 20 00 00 00 20 02 00 00`

// TestDescriptor gives the package that stands for go-smb2's module of descriptors what a server may send.
func TestDescriptor(t *testing.T) {
	whole, err := hex.DecodeString(strings.Join(strings.Fields(documented), ""))
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		want   string // of the error
	}{
		{name: "as documented"},
		{name: "nothing but a header", change: func([]byte) []byte { return append([]byte{1, 0, 0, 0x80}, make([]byte, 16)...) }},
		{name: "empty", change: func([]byte) []byte { return nil }, want: "has 0 bytes"},
		{name: "half a header", change: func(b []byte) []byte { return b[:19] }, want: "has 19 bytes"},
		{name: "revision", change: set(0, 2), want: "revision 2"},
		{name: "with pointers", change: set(3, 0x30), want: "not self-relative"},
		{name: "owner in the header", change: set(4, 4), want: "the owner of a security descriptor of 176 bytes is at byte 4"},
		{name: "group behind the end", change: set(8, 0xb1), want: "the group of a security descriptor of 176 bytes is at byte 177"},
		{name: "group at the end", change: set(8, 0xb0), want: "the group of a security descriptor: a SID of 0 bytes"},
		{name: "group far away", change: set(11, 0xff), want: "is at byte 4278190240"},
		{name: "SID cut off", change: func(b []byte) []byte { return b[:len(b)-1] }, want: "a SID of 16 bytes, of which 15 are there"},
		{name: "SID of revision 2", change: set(0x90, 2), want: "a SID of revision 2"},
		{name: "SID too long", change: set(0x91, 16), want: "with 16 subauthorities"},
		{name: "ACL of revision 3", change: set(0x30, 3), want: "the DACL of a security descriptor: an ACL of revision 3"},
		{name: "ACL of directory services", change: set(0x30, 4)},
		{name: "ACL behind the end", change: set(0x33, 1), want: "an ACL of 352 bytes, of which 128 are there"},
		{name: "ACL smaller than its head", change: set(0x32, 7), want: "an ACL of 7 bytes"},
		{name: "ACL cut off", change: set(16, 0xac), want: "an ACL of 4 bytes"},
		{name: "more entries than there is room", change: set(0x34, 5), want: "an ACL of 5 entries has room for 4"},
		{name: "entry behind the ACL", change: set(0x3a, 0x60), want: "entry 0 of an ACL has 96 bytes, of which 88 are there"},
		{name: "entry of no size", change: set(0x3a, 0), want: "entry 0 of an ACL has 0 bytes"},
		{name: "SACL of no size", change: set(0x16, 0), want: "the SACL of a security descriptor: an ACL of 0 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			given := slices.Clone(whole)
			if c.change != nil {
				given = c.change(given)
			}

			got, err := sddl.FromBinary(given)
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
			case err != nil:
				t.Error(err)
			case !bytes.Equal(got.Binary(), given):
				t.Errorf("%x became %x", given, got.Binary())
			}
		})
	}
}

// set returns what changes one byte.
func set(at int, to byte) func([]byte) []byte {
	return func(b []byte) []byte {
		b[at] = to
		return b
	}
}

// TestDescriptorIsKept changes the bytes that a descriptor was made of, and those that it has given.
func TestDescriptorIsKept(t *testing.T) {
	given := append([]byte{1, 0, 0, 0x80}, make([]byte, 16)...)
	want := slices.Clone(given)
	d, err := sddl.FromBinary(given)
	if err != nil {
		t.Fatal(err)
	}

	given[2] = 0xff
	d.Binary()[2] = 0xff
	if got := d.Binary(); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}
