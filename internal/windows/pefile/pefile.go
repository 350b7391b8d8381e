// Package pefile reads of a Windows program or library what its start depends on: the machine, the imports, the
// exports. The files may be hostile: every size and number is bounded, and nothing is read but headers and these
// tables. It judges nothing.
package pefile

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Bounds of what is read. The largest programs known have some 3,000 imports, Wine's largest library 4,600 exports.
const (
	maxSections  = 96 // the loader of Windows takes no more
	maxLibraries = 4096
	maxFunctions = 65536 // an ordinal has 16 bits
	maxName      = 4096  // names of C++ are long
	maxNames     = 8 << 20
	readAhead    = 512
)

// ErrNot says that a file is no PE file at all.
var ErrNot = errors.New("not a PE file")

// File is what was read of a file.
type File struct {
	// Machine is a constant IMAGE_FILE_MACHINE_… of debug/pe.
	Machine uint16
	// Library says that it is a DLL.
	Library bool
	// Subsystem is a constant IMAGE_SUBSYSTEM_… of debug/pe; native is a driver.
	Subsystem uint16
	// Managed says that it holds code of .NET (a CLR header); ILOnly, that it holds no other, so that a
	// 64-bit process takes it although Machine may be that of 32 bits.
	Managed, ILOnly bool
	// Imports are needed for the start; Delayed are loaded at the first call of one of their functions.
	Imports, Delayed []Import
	// Exports are in the order of the ordinals; empty entries are left out.
	Exports []Export

	r        io.ReaderAt
	sections []section
	names    int // bytes of names read so far
	headers  uint32
}

// Import is a library that a file wants, and what of it.
type Import struct {
	Library   string
	Functions []Function
}

// Function is an imported function: by its name or, if that is "", by its ordinal.
type Function struct {
	Name    string
	Ordinal uint16
}

func (f Function) String() string {
	if f.Name == "" {
		return fmt.Sprintf("#%d", f.Ordinal)
	}
	return f.Name
}

// Export is an exported function or variable. Name is "" for one with an ordinal only. Forward is "LIBRARY.NAME" or
// "LIBRARY.#ORDINAL" if it is one of another library, else "", and RVA is where it is.
type Export struct {
	Name, Forward string
	Ordinal       uint32
	RVA           uint32
}

type section struct{ rva, size, offset, raw uint32 }

// Read reads a file. The error is ErrNot if the file does not begin as a PE file does; any other says what of it is
// malformed, so that Windows would not load it either.
func Read(r io.ReaderAt) (*File, error) {
	f := &File{r: r}
	dirs, err := f.header()
	if err != nil {
		return nil, err
	}
	if err := f.clr(dirs[pe.IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR]); err != nil {
		return nil, fmt.Errorf("read the CLR header: %w", err)
	}

	if f.Imports, err = f.imports(dirs[pe.IMAGE_DIRECTORY_ENTRY_IMPORT]); err != nil {
		return nil, fmt.Errorf("read the imports: %w", err)
	}
	if f.Delayed, err = f.delayed(dirs[pe.IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT]); err != nil {
		return nil, fmt.Errorf("read the delayed imports: %w", err)
	}
	if f.Exports, err = f.exports(dirs[pe.IMAGE_DIRECTORY_ENTRY_EXPORT]); err != nil {
		return nil, fmt.Errorf("read the exports: %w", err)
	}

	return f, nil
}

// header reads the headers and returns the 16 data directories.
// https://learn.microsoft.com/windows/win32/debug/pe-format
func (f *File) header() (dirs [16]pe.DataDirectory, err error) {
	var dos [64]byte
	if _, err := f.r.ReadAt(dos[:], 0); err != nil || dos[0] != 'M' || dos[1] != 'Z' {
		return dirs, ErrNot
	}

	at := int64(binary.LittleEndian.Uint32(dos[0x3c:]))
	var head struct {
		Signature [4]byte
		pe.FileHeader
		Magic uint16
	}
	if err := f.struc(at, &head); err != nil || head.Signature != [4]byte{'P', 'E'} {
		return dirs, ErrNot // a program of DOS, or of 16-bit Windows
	}

	f.Machine, f.Library = head.Machine, head.Characteristics&pe.IMAGE_FILE_DLL != 0
	at += int64(binary.Size(head)) - 2
	var count uint32
	switch head.Magic {
	case 0x20b:
		var o pe.OptionalHeader64
		err = f.struc(at, &o)
		f.Subsystem = o.Subsystem
		f.headers = o.SizeOfHeaders
		dirs = o.DataDirectory
		count = o.NumberOfRvaAndSizes

	case 0x10b:
		var o pe.OptionalHeader32
		err = f.struc(at, &o)
		f.Subsystem = o.Subsystem
		f.headers = o.SizeOfHeaders
		dirs = o.DataDirectory
		count = o.NumberOfRvaAndSizes
	default:
		return dirs, fmt.Errorf("the optional header has the unknown form %#x", head.Magic)
	}

	if err != nil {
		return dirs, fmt.Errorf("read the optional header: %w", err)
	}
	for i := int(min(count, 16)); i < len(dirs); i++ {
		dirs[i] = pe.DataDirectory{}
	}

	if head.NumberOfSections > maxSections {
		return dirs, fmt.Errorf("it has %d sections, at most %d are allowed", head.NumberOfSections, maxSections)
	}

	table := make([]pe.SectionHeader32, head.NumberOfSections)
	if err := f.struc(at+int64(head.SizeOfOptionalHeader), table); err != nil {
		return dirs, fmt.Errorf("read the section headers: %w", err)
	}

	for _, s := range table {
		size := s.VirtualSize
		if size == 0 {
			size = s.SizeOfRawData
		}
		f.sections = append(f.sections, section{s.VirtualAddress, size, s.PointerToRawData, s.SizeOfRawData})
	}

	return dirs, nil
}

// struc reads fixed-size data at an offset of the file.
func (f *File) struc(at int64, to any) error {
	buf := make([]byte, binary.Size(to))
	if n, err := f.r.ReadAt(buf, at); n < len(buf) {
		return fmt.Errorf("the file ends at %d bytes of %d: %w", n, len(buf), err)
	}
	return binary.Read(bytes.NewReader(buf), binary.LittleEndian, to)
}

// Bytes reads up to n bytes at an address relative to the image's base; fewer if the section or the file ends there.
// What a section has in memory only is zero.
func (f *File) Bytes(rva uint32, n int) ([]byte, error) {
	at, left, zero := f.place(rva)
	if left == 0 && zero == 0 {
		return nil, fmt.Errorf("address %#x lies in no section", rva)
	}

	buf := make([]byte, min(uint64(n), uint64(left)+uint64(zero)))
	read := buf[:min(len(buf), int(left))]
	if got, err := f.r.ReadAt(read, at); got < len(read) && !errors.Is(err, io.EOF) {
		return nil, err
	} else if got < len(read) {
		buf = buf[:got]
	}

	return buf, nil
}

// place says where an address lies in the file, how many bytes of its section are left there and, after them, in memory
// only.
func (f *File) place(rva uint32) (at int64, left, zero uint32) {
	for _, s := range f.sections {
		if rva < s.rva || rva-s.rva >= s.size {
			continue
		}
		in := rva - s.rva
		raw := min(s.raw, s.size)
		if in < raw {
			return int64(s.offset) + int64(in), raw - in, s.size - raw
		}

		return 0, 0, s.size - in
	}

	if rva < f.headers {
		return int64(rva), f.headers - rva, 0
	}

	return 0, 0, 0
}

// at reads fixed-size data at an address.
func (f *File) at(rva uint32, to any) error {
	buf, err := f.Bytes(rva, binary.Size(to))
	if err != nil {
		return err
	}
	if len(buf) < binary.Size(to) {
		return fmt.Errorf("the section ends within the data at %#x", rva)
	}
	return binary.Read(bytes.NewReader(buf), binary.LittleEndian, to)
}

// Text reads a string that ends with a zero byte.
func (f *File) Text(rva uint32) (string, error) {
	var out []byte
	for len(out) <= maxName {
		buf, err := f.Bytes(rva+uint32(len(out)), readAhead)
		if err != nil {
			return "", err
		}

		if head, _, ended := bytes.Cut(buf, []byte{0}); ended {
			out = append(out, head...)
			if f.names += len(out); f.names > maxNames {
				return "", fmt.Errorf("its names are longer than %d MiB", maxNames>>20)
			}
			return string(out), nil
		}

		if len(buf) == 0 {
			break
		}
		out = append(out, buf...)
	}

	return "", fmt.Errorf("the name at %#x has no end", rva)
}

// clr reads the header of .NET. https://learn.microsoft.com/dotnet/api/system.reflection.portableexecutable.corflags
func (f *File) clr(dir pe.DataDirectory) error {
	if dir.VirtualAddress == 0 || dir.Size == 0 {
		return nil
	}
	var h struct {
		Size         uint32
		Major, Minor uint16
		Metadata     pe.DataDirectory
		Flags        uint32
	}

	if err := f.at(dir.VirtualAddress, &h); err != nil {
		return err
	}

	const ilOnly, requires32 = 1, 2
	f.Managed, f.ILOnly = true, h.Flags&ilOnly != 0 && h.Flags&requires32 == 0
	return nil
}

// Forget lets go of the exports, and of the reader: Bytes, Text and Slots must not be called any more.
func (f *File) Forget() {
	f.r = nil
	f.sections = nil
	f.Exports = nil
}

// wide reports whether addresses have 64 bits.
func (f *File) wide() bool {
	return f.Machine == pe.IMAGE_FILE_MACHINE_AMD64 || f.Machine == pe.IMAGE_FILE_MACHINE_ARM64
}

// add returns an address with an offset; ok is false if that is beyond 32 bits.
func add(rva uint32, offset int) (sum uint32, ok bool) {
	s := uint64(rva) + uint64(offset)
	return uint32(s), s <= math.MaxUint32
}
