package wineapi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"mullion.dev/mullion/internal/windows/pefile"
)

// Wine is what one Wine has.
type Wine struct {
	Version   string
	Libraries map[string]Library // by file name in lower case: kernel32.dll
	Sets      map[string]string  // API sets without their last number, and the library that implements it; "" none
}

// Library is what a library exports.
type Library struct {
	Functions map[string]State
	Ordinals  map[uint32]State
}

// file is a library while a folder is read.
type file struct {
	*pefile.File
	name   string
	slots  map[uint32]pefile.Slot
	byName map[string]*pefile.Export
}

// ReadFolder reads the folder of Wine's 64-bit libraries: /usr/lib/x86_64-linux-gnu/wine/x86_64-windows.
func ReadFolder(version, folder string) (*Wine, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return nil, err
	}

	w := &Wine{Version: version, Libraries: map[string]Library{}}
	files := map[string]*file{}
	for _, path := range names {
		f, err := readFile(path)
		if errors.Is(err, pefile.ErrNot) || (err == nil && !f.Library) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", path, err)
		}
		files[strings.ToLower(filepath.Base(path))] = f
	}

	if files["kernel32.dll"] == nil {
		return nil, fmt.Errorf("folder %q has no kernel32.dll of Wine", folder)
	}
	if w.Sets, err = apiSets(filepath.Join(folder, "apisetschema.dll")); err != nil {
		return nil, err
	}

	for name, f := range files {
		l := Library{map[string]State{}, map[uint32]State{}}
		for i := range f.Exports {
			e := &f.Exports[i]
			state := w.state(files, f, e, 0)
			if state == NoFunction || state == NoLibrary {
				continue
			}
			l.Ordinals[e.Ordinal] = state
			if e.Name != "" {
				l.Functions[e.Name] = state
			}
		}

		w.Libraries[name] = l
	}

	return w, nil
}

func readFile(path string) (*file, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := pefile.Read(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}

	f := &file{
		File:   p,
		name:   filepath.Base(path),
		byName: map[string]*pefile.Export{},
	}
	if f.slots, err = p.Slots(); err != nil {
		return nil, err
	}

	for i := range p.Exports {
		e := &p.Exports[i]
		f.byName["#"+strconv.FormatUint(uint64(e.Ordinal), 10)] = e
		if e.Name != "" {
			f.byName[e.Name] = e
		}
	}

	return f, nil
}

// maxForwards bounds how often a function is that of another library.
const maxForwards = 8

// state says what an export is, also if it is only the way to a function of another library.
func (w *Wine) state(files map[string]*file, f *file, e *pefile.Export, depth int) State {
	other := pefile.Slot{}
	if e.Forward != "" {
		dot := strings.LastIndexByte(e.Forward, '.')
		other = pefile.Slot{Library: e.Forward[:max(dot, 0)], Function: pefile.Function{Name: e.Forward[dot+1:]}}
	} else if code, err := f.Bytes(e.RVA, 24); err == nil { // or it is a variable at the end of a section
		if f.isStub(code, e.RVA) {
			return Stub
		}
		if slot, ok := jump(code, e.RVA); ok {
			other = f.slots[slot]
		}
	}

	if other.Library == "" || depth == maxForwards {
		return There
	}

	name := strings.ToLower(other.Library)
	if !strings.Contains(name, ".") {
		name += ".dll"
	}

	if host, ok := w.Sets[contract(name)]; ok {
		name = host
	}
	if files[name] == nil {
		return NoLibrary
	}

	next := files[name].byName[other.String()]
	if next == nil {
		return NoFunction
	}

	return w.state(files, files[name], next, depth+1)
}

// isStub recognises the code that winebuild makes of "@ stub" in a .spec file; FILE is the library's
// name, of twinapi.appcore.dll without its ending:
//
//	sub $0x28,%rsp; lea FILE(%rip),%rcx; lea NAME(%rip),%rdx (or mov $ORDINAL,%edx); call __wine_spec_unimplemented_stub; nop
//
// https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/tools/winebuild/spec32.c, output_stub_funcs
func (f *file) isStub(code []byte, at uint32) bool {
	if !stubForm(code) {
		return false
	}
	about, err := f.Text(at + 11 + binary.LittleEndian.Uint32(code[7:]))
	return err == nil && about != "" && strings.HasPrefix(strings.ToLower(f.name), strings.ToLower(about))
}

func stubForm(code []byte) bool {
	if len(code) < 24 || !bytes.HasPrefix(code, []byte{0x48, 0x83, 0xec, 0x28, 0x48, 0x8d, 0x0d}) {
		return false
	}
	switch rest := code[11:]; {
	case bytes.HasPrefix(rest, []byte{0x48, 0x8d, 0x15}): // lea NAME
		return rest[7] == 0xe8 && rest[12] == 0x90
	case bytes.HasPrefix(rest, []byte{0x48, 0xc7, 0xc2}): // mov $ORDINAL,%rdx
		return rest[7] == 0xe8 && rest[12] == 0x90
	case rest[0] == 0xba: // mov $ORDINAL,%edx
		return rest[5] == 0xe8 && rest[10] == 0x90
	}

	return false
}

// jump recognises code that only goes on to an imported function, and returns the slot of the import.
func jump(code []byte, at uint32) (slot uint32, ok bool) {
	skip := 0
	if bytes.HasPrefix(code, []byte{0x48, 0x8d, 0xa4, 0x24, 0, 0, 0, 0}) { // room for who patches it
		skip = 8
	}
	if !bytes.HasPrefix(code[min(skip, len(code)):], []byte{0xff, 0x25}) || len(code) < skip+6 {
		return 0, false
	}
	end := at + uint32(skip) + 6
	return end + binary.LittleEndian.Uint32(code[skip+2:]), true
}

// apiSets reads Wine's table of API sets: section .apiset of its apisetschema.dll, version 6 of the form.
// https://www.geoffchappell.com/studies/windows/win32/apisetschema/index.htm
func apiSets(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	wrong := func(what string) error { return fmt.Errorf("read the API sets of %q: %s", path, what) }
	name := []byte(".apiset\x00")
	i := bytes.Index(text[:min(len(text), 4096)], name)
	if i < 0 || i+40 > len(text) {
		return nil, wrong("it has no section .apiset")
	}

	from := binary.LittleEndian.Uint32(text[i+20:])
	if int(from)+28 > len(text) {
		return nil, wrong("the section lies beyond the file")
	}

	text = text[from:]
	number := func(at uint32) uint32 {
		if int(at)+4 > len(text) {
			return 0
		}
		return binary.LittleEndian.Uint32(text[at:])
	}

	word := func(at, length uint32) string {
		if int(at)+int(length) > len(text) {
			return ""
		}
		var units []uint16
		for pair := range slices.Chunk(text[at:at+length], 2) {
			units = append(units, binary.LittleEndian.Uint16(pair))
		}
		return strings.ToLower(string(utf16.Decode(units)))
	}

	if number(0) != 6 {
		return nil, wrong("its version is " + strconv.Itoa(int(number(0))) + ", 6 is known")
	}

	out := map[string]string{}
	for n := range number(12) {
		entry := number(16) + n*24
		set := word(number(entry+4), number(entry+12)) // without the last number
		host := ""
		if values := number(entry + 20); values > 0 { // the first is for every other importer
			value := number(entry + 16)
			host = word(number(value+12), number(value+16))
		}
		out[set] = host
	}

	if len(out) == 0 {
		return nil, wrong("there are none")
	}

	return out, nil
}
