// Package petest makes small PE files for tests. They have tables, and no code.
package petest

import (
	"bytes"
	"cmp"
	"debug/pe"
	"encoding/binary"
	"slices"

	"mullion.dev/mullion/internal/windows/pefile"
)

// Where things lie in the bytes: one section follows the headers.
const (
	Optional = 0x58   // the optional header
	Data     = 0x400  // the section in the file
	Base     = 0x1000 // the section's address
)

// Directory returns where the entry of a data directory lies in a 64-bit file.
func Directory(n int) int { return Optional + 112 + 8*n }

// File says what the tables hold.
type File struct {
	Machine          uint16 // 0: 64-bit x86
	Library          bool
	Subsystem        uint16 // 0: a console program
	Imports, Delayed []pefile.Import
	Exports          []string
	// CLR gives the file a CLR header with CLRFlags.
	CLR      bool
	CLRFlags uint32
}

// builder collects the section's bytes.
type builder struct {
	bytes.Buffer

	word int
}

func (b *builder) here() uint32 { return Base + uint32(b.Len()) }

func (b *builder) put(vs ...any) {
	for _, v := range vs {
		_ = binary.Write(b, binary.LittleEndian, v) // a buffer takes all
	}
}

func (b *builder) text(s string) uint32 {
	at := b.here()
	b.WriteString(s + "\x00")
	return at
}

// thunks writes the table of a library's functions.
func (b *builder) thunks(fs []pefile.Function) uint32 {
	var values []uint64
	for _, f := range fs {
		if f.Name == "" {
			values = append(values, 1<<(8*b.word-1)|uint64(f.Ordinal))
			continue
		}
		values = append(values, uint64(b.here()))
		b.put(uint16(0))
		b.text(f.Name)
	}

	at := b.here()
	for _, v := range append(values, 0) {
		if b.word == 8 {
			b.put(v)
		} else {
			b.put(uint32(v))
		}
	}

	return at
}

// Bytes returns the file.
func (f File) Bytes() []byte {
	f.Machine = cmp.Or(f.Machine, pe.IMAGE_FILE_MACHINE_AMD64)
	f.Subsystem = cmp.Or(f.Subsystem, pe.IMAGE_SUBSYSTEM_WINDOWS_CUI)
	b := &builder{word: 8}
	if f.Machine == pe.IMAGE_FILE_MACHINE_I386 {
		b.word = 4
	}

	b.Write(bytes.Repeat([]byte{0xcc}, 0x40))
	var dirs [16]pe.DataDirectory
	if len(f.Exports) > 0 {
		dirs[pe.IMAGE_DIRECTORY_ENTRY_EXPORT] = f.exports(b)
	}

	if len(f.Imports) > 0 {
		dirs[pe.IMAGE_DIRECTORY_ENTRY_IMPORT] = table(b, f.Imports, func(name, thunks uint32) {
			b.put(thunks, uint32(0), uint32(0), name, thunks)
		}, 20)
	}

	if len(f.Delayed) > 0 {
		dirs[pe.IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT] = table(b, f.Delayed, func(name, thunks uint32) {
			b.put(uint32(1), name, uint32(0), thunks, thunks, uint32(0), uint32(0), uint32(0))
		}, 32)
	}
	if f.CLR {
		dirs[pe.IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR] = pe.DataDirectory{VirtualAddress: b.here(), Size: 72}
		b.put(uint32(72), uint16(2), uint16(5), uint64(0), f.CLRFlags, make([]byte, 52))
	}

	return f.whole(b.Bytes(), dirs)
}

// table writes the names and thunks of libraries, and then the descriptors of size bytes.
func table(b *builder, is []pefile.Import, descriptor func(name, thunks uint32), size int) pe.DataDirectory {
	var at [][2]uint32
	for _, i := range is {
		at = append(at, [2]uint32{b.text(i.Library), b.thunks(i.Functions)})
	}
	dir := pe.DataDirectory{VirtualAddress: b.here(), Size: uint32(size * (len(is) + 1))}
	for _, a := range at {
		descriptor(a[0], a[1])
	}
	b.put(make([]byte, size))
	return dir
}

func (f File) exports(b *builder) pe.DataDirectory {
	names := slices.Sorted(slices.Values(f.Exports))
	var at []uint32
	for _, n := range names {
		at = append(at, b.text(n))
	}

	functions := b.here()
	for range names {
		b.put(uint32(Base))
	}

	pointers := b.here()
	b.put(at)
	ordinals := b.here()
	for i := range names {
		b.put(uint16(i))
	}

	dir := pe.DataDirectory{VirtualAddress: b.here(), Size: 40}
	n := uint32(len(names))
	b.put(uint64(0), uint32(0), uint32(0), uint32(1), n, n, functions, pointers, ordinals)
	return dir
}

func (f File) whole(data []byte, dirs [16]pe.DataDirectory) []byte {
	var out builder
	dos := make([]byte, 0x40)
	copy(dos, "MZ")
	dos[0x3c] = 0x40
	out.put(dos, []byte("PE\x00\x00"))
	flags := uint16(pe.IMAGE_FILE_EXECUTABLE_IMAGE)
	if f.Library {
		flags |= pe.IMAGE_FILE_DLL
	}

	size := uint32(len(data))
	var optional any = pe.OptionalHeader64{
		Magic: 0x20b, Subsystem: f.Subsystem, SizeOfHeaders: Data, ImageBase: 0x140000000, SizeOfImage: Base + size,
		SectionAlignment: 0x1000, FileAlignment: 0x200, NumberOfRvaAndSizes: 16, DataDirectory: dirs,
		MajorSubsystemVersion: 6, MajorOperatingSystemVersion: 6,
	}

	if f.Machine == pe.IMAGE_FILE_MACHINE_I386 {
		optional = pe.OptionalHeader32{
			Magic: 0x10b, Subsystem: f.Subsystem, SizeOfHeaders: Data, ImageBase: 0x400000, SizeOfImage: Base + size,
			SectionAlignment: 0x1000, FileAlignment: 0x200, NumberOfRvaAndSizes: 16, DataDirectory: dirs,
			MajorSubsystemVersion: 6, MajorOperatingSystemVersion: 6,
		}
	}

	out.put(pe.FileHeader{
		Machine:              f.Machine,
		NumberOfSections:     1,
		SizeOfOptionalHeader: uint16(binary.Size(optional)),
		Characteristics:      flags,
	}, optional, pe.SectionHeader32{
		Name: [8]uint8{'.', 'd', 'a', 't', 'a'}, VirtualSize: size, VirtualAddress: Base, SizeOfRawData: size,
		PointerToRawData: Data, Characteristics: pe.IMAGE_SCN_MEM_READ | pe.IMAGE_SCN_CNT_INITIALIZED_DATA,
	})

	out.Write(make([]byte, Data-out.Len()))
	out.Write(data)
	return out.Bytes()
}
