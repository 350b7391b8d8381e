package hcs

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// FuzzReadStreams reads what programs of the host write for files of layers: it ends, and never has more data than it
// was given.
func FuzzReadStreams(f *testing.F) {
	stream := func(id uint32, size uint64, name uint32, rest string) []byte {
		b := binary.LittleEndian.AppendUint32([]byte{attributeArchive, 0, 0, 0}, id)
		b = binary.LittleEndian.AppendUint32(b, 0)
		b = binary.LittleEndian.AppendUint64(b, size)
		return append(binary.LittleEndian.AppendUint32(b, name), rest...)
	}
	f.Add([]byte{})
	f.Add(stream(streamData, 2, 0, "ok"))
	f.Add(stream(streamData, 1<<63, 0, "x"))
	f.Add(stream(4, 1, 8, "s\x00t\x00r\x00m\x00x"))
	f.Add(stream(streamReparse, 1, 0, "x"))
	f.Add(stream(streamSparseBlock, 9, 1<<31, "x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var data bytes.Buffer
		if _, err := readStreams(bytes.NewReader(text), &data); err == nil && data.Len() > len(text) {
			t.Errorf("%d bytes become %d", len(text), data.Len())
		}
	})
}

// FuzzNames: no name that a layer may have leads out of a folder, ends a line or is the transport form's own.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"a", "..", `..\x`, "a\nb", "con", "x.$WCIDIRS$", "a/b", "a:b", "\x00"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkName(name) != nil {
			return
		}
		if bytes.ContainsAny([]byte(name), "\n\r\x00\\/") || name == ".." || name == "." {
			t.Errorf("the name %q is taken", name)
		}
	})
}
