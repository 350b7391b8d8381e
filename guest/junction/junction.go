// Package junction makes junctions, the links of NTFS to folders of this computer.
package junction

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// The numbers of a junction
// (https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_reparse_data_buffer).
const (
	mountPointTag = 0xA0000003 // IO_REPARSE_TAG_MOUNT_POINT
	headBytes     = 8          // the tag, the length of the rest, and two bytes that are reserved
	namesBytes    = 8          // where both names are, and how long
)

// data returns REPARSE_DATA_BUFFER of a junction to a folder, whose whole name is given: the name for the kernel, and
// the one that is shown.
func data(target string) []byte {
	shown := strings.TrimPrefix(target, `\\?\`)
	kernel := utf16.Encode([]rune(`\??\` + shown))
	print := utf16.Encode([]rune(shown))

	little := binary.LittleEndian
	names := little.AppendUint16(nil, 0)
	names = little.AppendUint16(names, uint16(2*len(kernel)))   //nolint:gosec // a path is shorter
	names = little.AppendUint16(names, uint16(2*len(kernel)+2)) //nolint:gosec // the same
	names = little.AppendUint16(names, uint16(2*len(print)))    //nolint:gosec // the same
	for _, text := range [][]uint16{kernel, print} {
		for _, unit := range append(text, 0) {
			names = little.AppendUint16(names, unit)
		}
	}

	all := little.AppendUint32(nil, mountPointTag)
	all = little.AppendUint16(all, uint16(len(names))) //nolint:gosec // the same
	all = little.AppendUint16(all, 0)
	return append(all, names...)
}
