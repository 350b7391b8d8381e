package pefile_test

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/pefile"
	"mullion.dev/mullion/internal/windows/pefile/petest"
)

func sample() petest.File {
	return petest.File{
		Imports: []pefile.Import{
			{Library: "kernel32.dll", Functions: []pefile.Function{{Name: "ExitProcess"}, {Name: "NoSuchFunction"}}},
			{Library: "ws2_32.dll", Functions: []pefile.Function{{Ordinal: 115}}},
		},
		Delayed: []pefile.Import{{Library: "late.dll", Functions: []pefile.Function{{Name: "Late"}}}},
		Exports: []string{"A", "B"},
	}
}

func TestRead(t *testing.T) {
	for _, machine := range []uint16{pe.IMAGE_FILE_MACHINE_AMD64, pe.IMAGE_FILE_MACHINE_I386} {
		want := sample()
		want.Machine, want.Library = machine, true
		f, err := pefile.Read(bytes.NewReader(want.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != machine || !f.Library || f.Managed || f.Subsystem != pe.IMAGE_SUBSYSTEM_WINDOWS_CUI {
			t.Errorf("machine %#x: %+v", machine, f)
		}

		imports := [][]pefile.Import{f.Imports, f.Delayed}
		if diff := cmp.Diff([][]pefile.Import{want.Imports, want.Delayed}, imports); diff != "" {
			t.Errorf("machine %#x: imports (-want +got):\n%s", machine, diff)
		}
		var exports []string
		for _, e := range f.Exports {
			exports = append(exports, e.Name)
		}

		if diff := cmp.Diff(want.Exports, exports); diff != "" {
			t.Errorf("machine %#x: exports (-want +got):\n%s", machine, diff)
		}
	}
}

func TestManaged(t *testing.T) {
	for _, tc := range []struct {
		flags  uint32
		ilOnly bool
	}{{1, true}, {0, false}, {1 | 2, false}} {
		one := petest.File{CLR: true, CLRFlags: tc.flags}
		f, err := pefile.Read(bytes.NewReader(one.Bytes()))
		if err != nil || !f.Managed || f.ILOnly != tc.ilOnly {
			t.Errorf("flags %#x: %+v, %v", tc.flags, f, err)
		}
	}
}

func TestMalformed(t *testing.T) {
	whole := sample().Bytes()
	for name, change := range map[string]func(b []byte) []byte{
		"cut in the headers":   func(b []byte) []byte { return b[:0x90] },
		"cut in the imports":   func(b []byte) []byte { return b[:petest.Data+8] },
		"imports beyond":       func(b []byte) []byte { return patch(b, petest.Directory(1), 0xfffff000) },
		"imports of no end":    func(b []byte) []byte { return patch(b, petest.Directory(1), petest.Base+4) },
		"delayed beyond":       func(b []byte) []byte { return patch(b, petest.Directory(13), 0xfffff000) },
		"exports without end":  func(b []byte) []byte { return patch(b, petest.Directory(0), petest.Base+4) },
		"unknown header":       func(b []byte) []byte { b[petest.Optional] = 7; return b },
		"hundreds of sections": func(b []byte) []byte { b[petest.Optional-17] = 4; return b },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pefile.Read(bytes.NewReader(change(bytes.Clone(whole))))
			if err == nil || errors.Is(err, pefile.ErrNot) {
				t.Errorf("error %v", err)
			}
		})
	}

	for _, text := range []string{"", "MZ", "#!/bin/sh\n", "MZ" + string(make([]byte, 200))} {
		if _, err := pefile.Read(bytes.NewReader([]byte(text))); !errors.Is(err, pefile.ErrNot) {
			t.Errorf("%.10q: %v", text, err)
		}
	}
}

func patch(b []byte, at int, v uint32) []byte {
	binary.LittleEndian.PutUint32(b[at:], v)
	return b
}

// FuzzRead reads whatever it is given within bounds.
func FuzzRead(f *testing.F) {
	f.Add(sample().Bytes())
	small := sample()
	small.Machine, small.CLR = pe.IMAGE_FILE_MACHINE_I386, true
	f.Add(small.Bytes())
	f.Fuzz(func(_ *testing.T, text []byte) {
		if p, err := pefile.Read(bytes.NewReader(text)); err == nil {
			_, _ = p.Slots()
		}
	})
}
