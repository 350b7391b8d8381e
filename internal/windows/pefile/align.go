package pefile

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// pageSize is the size of a page of memory.
const pageSize = 4096

// Offsets in a PE32+ file (https://learn.microsoft.com/windows/win32/debug/pe-format).
const (
	lfanewAt          = 0x3c // of the offset of the file header, after its signature of four bytes
	signatureSize     = 4
	fileHeaderSize    = 20
	sectionHeaderSize = 40
	optionalMagicAt   = 0 // from here in the optional header
	fileAlignmentAt   = 36
	headersSizeAt     = 60
	checkSumAt        = 64
	directoryCountAt  = 108
	directoriesAt     = 112
	directorySize     = 8
	certificatesIndex = 4
	debugIndex        = 6
	magicPlus         = 0x20b
	rawSizeAt         = 16 // from here in a section's header
	rawDataAt         = 20
	symbolTableAt     = 8 // from here in the file header
	sectionCountAt    = 2
	optionalSizeAt    = 16
	mostSections      = 96
)

// Align returns a 64-bit program or library whose sections begin at whole pages of the file, and are else the same.
// Wine maps such a file into memory; of any other it reads all sections, which every process then has of its own
// (https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/dlls/ntdll/unix/virtual.c, map_file_into_view). The error is
// ErrNot for what is no such file, or has what names places in the file: a signature, or data for debuggers.
func Align(file []byte) ([]byte, error) {
	h, err := headersOf(file)
	if err != nil {
		return nil, err
	}

	out := make([]byte, roundUp(h.size), roundUp(uint32(len(file)))+pageSize*(h.sections+1))
	copy(out, file[:h.size])
	put := func(at uint32, value uint32) { binary.LittleEndian.PutUint32(out[at:], value) }
	put(h.optional+fileAlignmentAt, pageSize)
	put(h.optional+headersSizeAt, roundUp(h.size))
	put(h.optional+checkSumAt, 0)
	put(h.file+symbolTableAt, 0) // no loader looks at symbols
	put(h.file+symbolTableAt+4, 0)

	for i := range h.sections {
		header := h.table + i*sectionHeaderSize
		size := binary.LittleEndian.Uint32(file[header+rawSizeAt:])
		from := binary.LittleEndian.Uint32(file[header+rawDataAt:])
		if size == 0 || from == 0 {
			continue
		}
		if uint64(from)+uint64(size) > uint64(len(file)) || uint64(len(out))+uint64(roundUp(size)) > 1<<31 {
			return nil, fmt.Errorf("%w: section %d is not in the file", ErrNot, i)
		}

		put(header+rawSizeAt, roundUp(size))
		put(header+rawDataAt, uint32(len(out)))
		out = append(out, file[from:from+size]...)
		out = append(out, make([]byte, roundUp(size)-size)...)
	}

	return out, nil
}

// headers are where a file's headers are; size is that of all of them.
type headers struct {
	file, optional, table, sections, size uint32
}

func headersOf(file []byte) (headers, error) {
	const least = 0x40
	if len(file) < least || len(file) > 1<<30 || !bytes.HasPrefix(file, []byte("MZ")) {
		return headers{}, ErrNot
	}
	at := binary.LittleEndian.Uint32(file[lfanewAt:])
	if uint64(at)+signatureSize+fileHeaderSize+directoriesAt > uint64(len(file)) ||
		!bytes.HasPrefix(file[at:], []byte("PE\x00\x00")) {
		return headers{}, ErrNot
	}

	h := headers{file: at + signatureSize, optional: at + signatureSize + fileHeaderSize}
	h.sections = uint32(binary.LittleEndian.Uint16(file[h.file+sectionCountAt:]))
	h.table = h.optional + uint32(binary.LittleEndian.Uint16(file[h.file+optionalSizeAt:]))
	h.size = binary.LittleEndian.Uint32(file[h.optional+headersSizeAt:])
	directories := binary.LittleEndian.Uint32(file[h.optional+directoryCountAt:])
	end := h.optional + directoriesAt + min(directories, mostSections)*directorySize
	switch {
	case binary.LittleEndian.Uint16(file[h.optional+optionalMagicAt:]) != magicPlus:
		return headers{}, ErrNot
	case h.sections == 0 || h.sections > mostSections || directories > mostSections || end > h.table:
		return headers{}, ErrNot
	case h.table+h.sections*sectionHeaderSize > h.size || uint64(h.size) > uint64(len(file)):
		return headers{}, ErrNot
	}

	return h, h.movable(file, directories)
}

// movable refuses a file with data that say where in it they are: their directories are among so many.
func (h headers) movable(file []byte, directories uint32) error {
	for _, index := range []uint32{certificatesIndex, debugIndex} {
		if index < directories && binary.LittleEndian.Uint32(file[h.optional+directoriesAt+index*directorySize:]) != 0 {
			return fmt.Errorf("%w that can be moved: it has data of directory %d", ErrNot, index)
		}
	}
	return nil
}

func roundUp(size uint32) uint32 { return (size + pageSize - 1) / pageSize * pageSize }
