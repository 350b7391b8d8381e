package pefile

import (
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
)

var errWraps = errors.New("a table goes beyond 4 GiB")

// imports reads the table of imports. The directory's size is not looked at, as Windows does not.
func (f *File) imports(dir pe.DataDirectory) ([]Import, error) {
	if dir.VirtualAddress == 0 {
		return nil, nil
	}

	var out []Import
	for n := 0; ; n++ {
		var d struct{ Lookup, Stamp, Chain, Name, Table uint32 }
		at, ok := add(dir.VirtualAddress, n*binary.Size(d))
		if !ok {
			return nil, errWraps
		}
		if err := f.at(at, &d); err != nil {
			return nil, err
		}

		if d.Name == 0 || d.Table == 0 {
			return out, nil
		}

		table := d.Lookup
		if table == 0 {
			table = d.Table
		}
		one, err := f.library(d.Name, table, out)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
}

// delayed reads the table of delayed imports.
// https://learn.microsoft.com/windows/win32/debug/pe-format#delay-load-import-tables-image-only
func (f *File) delayed(dir pe.DataDirectory) ([]Import, error) {
	if dir.VirtualAddress == 0 || dir.Size == 0 {
		return nil, nil
	}

	var out []Import
	for n := 0; ; n++ {
		var d struct{ Attributes, Name, Handle, Table, Names, Bound, Unload, Stamp uint32 }
		at, ok := add(dir.VirtualAddress, n*binary.Size(d))
		if !ok {
			return nil, errWraps
		}
		if err := f.at(at, &d); err != nil {
			return nil, err
		}

		if d.Name == 0 || d.Names == 0 {
			return out, nil
		}
		if d.Attributes&1 == 0 {
			return out, nil // absolute addresses of old 32-bit linkers
		}

		one, err := f.library(d.Name, d.Names, out)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
}

// library reads the name of a library and what is wanted of it. before are those that were read, for the bounds.
func (f *File) library(name, table uint32, before []Import) (Import, error) {
	var one Import
	if len(before) >= maxLibraries {
		return one, fmt.Errorf("it names more than %d libraries", maxLibraries)
	}
	var err error
	if one.Library, err = f.Text(name); err != nil {
		return one, err
	}

	total := 0
	for _, b := range before {
		total += len(b.Functions)
	}

	size := 4
	if f.wide() {
		size = 8
	}

	for n := 0; ; n++ {
		if total+n >= maxFunctions {
			return one, fmt.Errorf("it names more than %d functions", maxFunctions)
		}
		at, ok := add(table, n*size)
		if !ok {
			return one, errWraps
		}

		buf, err := f.Bytes(at, size)
		if err != nil {
			return one, err
		}
		if len(buf) < size {
			return one, fmt.Errorf("the table at %#x has no end", table)
		}

		v := uint64(binary.LittleEndian.Uint32(buf))
		if size == 8 {
			v = binary.LittleEndian.Uint64(buf)
		}
		if v == 0 {
			return one, nil
		}

		fn := Function{Ordinal: uint16(v)}
		if v>>(uint(size)*8-1) == 0 {
			fn.Ordinal = 0
			if fn.Name, err = f.Text(uint32(v) + 2); err != nil {
				return one, err
			}
		}
		one.Functions = append(one.Functions, fn)
	}
}

// Slots returns, for each imported function, the address of the table entry through which it is called.
func (f *File) Slots() (map[uint32]Slot, error) {
	dirs, err := (&File{r: f.r}).header()
	if err != nil {
		return nil, err
	}

	dir := dirs[pe.IMAGE_DIRECTORY_ENTRY_IMPORT]
	out := map[uint32]Slot{}
	size := 4
	if f.wide() {
		size = 8
	}

	for n, i := range f.Imports {
		var d struct{ Lookup, Stamp, Chain, Name, Table uint32 }
		if err := f.at(dir.VirtualAddress+uint32(n*binary.Size(d)), &d); err != nil {
			return nil, err
		}
		for k, fn := range i.Functions {
			out[d.Table+uint32(k*size)] = Slot{i.Library, fn}
		}
	}

	return out, nil
}

// Slot is a function of a library.
type Slot struct {
	Library string
	Function
}

// exports reads the table of exports.
func (f *File) exports(dir pe.DataDirectory) ([]Export, error) {
	if dir.VirtualAddress == 0 || dir.Size == 0 {
		return nil, nil
	}

	var d struct {
		Flags, Stamp                       uint32
		Major, Minor                       uint16
		Name, Base, Functions, Names       uint32
		FunctionTable, NameTable, Ordinals uint32
	}
	if err := f.at(dir.VirtualAddress, &d); err != nil {
		return nil, err
	}

	if d.Functions > maxFunctions || d.Names > maxFunctions {
		return nil, fmt.Errorf("it has more than %d exports", maxFunctions)
	}

	table, err := f.numbers(d.FunctionTable, d.Functions, 4)
	if err != nil {
		return nil, err
	}
	names, err := f.exportNames(len(table), d.NameTable, d.Ordinals, d.Names)
	if err != nil {
		return nil, err
	}

	var out []Export
	for i, rva := range table {
		if rva == 0 {
			continue
		}

		e := Export{Ordinal: d.Base + uint32(i), RVA: rva}
		if rva >= dir.VirtualAddress && rva-dir.VirtualAddress < dir.Size {
			if e.Forward, err = f.Text(rva); err != nil {
				return nil, err
			}
			e.RVA = 0
		}

		if len(names[i]) == 0 {
			out = append(out, e)
		}
		for _, name := range names[i] {
			e.Name = name
			out = append(out, e)
		}
	}

	return out, nil
}

// exportNames reads the names of a table's entries: count names, whose places and entries are in two further tables.
func (f *File) exportNames(entries int, nameTable, ordinalTable, count uint32) ([][]string, error) {
	places, err := f.numbers(nameTable, count, 4)
	if err != nil {
		return nil, err
	}
	ordinals, err := f.numbers(ordinalTable, count, 2)
	if err != nil {
		return nil, err
	}

	names := make([][]string, entries)
	for i, place := range places {
		name, err := f.Text(place)
		if err != nil {
			return nil, err
		}
		if n := ordinals[i]; n < uint32(len(names)) {
			names[n] = append(names[n], name)
		}
	}

	return names, nil
}

// numbers reads a table of numbers of 2 or 4 bytes.
func (f *File) numbers(rva, count uint32, size int) ([]uint32, error) {
	if count == 0 {
		return nil, nil
	}
	buf, err := f.Bytes(rva, int(count)*size)
	if err != nil {
		return nil, err
	}

	if len(buf) < int(count)*size {
		return nil, fmt.Errorf("the section ends within the table at %#x", rva)
	}

	out := make([]uint32, count)
	for i := range out {
		if size == 2 {
			out[i] = uint32(binary.LittleEndian.Uint16(buf[2*i:]))
		} else {
			out[i] = binary.LittleEndian.Uint32(buf[4*i:])
		}
	}

	return out, nil
}
