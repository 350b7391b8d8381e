package pefile

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// goProgram builds a program whose sections begin anywhere in its file.
func goProgram(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(1) }\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	to := filepath.Join(dir, "main.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", to, source)
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}

	data, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAlign(t *testing.T) {
	file := goProgram(t)
	aligned, err := Align(file)
	if err != nil {
		t.Fatal(err)
	}
	before, err := pe.NewFile(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}

	after, err := pe.NewFile(bytes.NewReader(aligned))
	if err != nil {
		t.Fatal(err)
	}
	if len(before.Sections) != len(after.Sections) {
		t.Fatalf("%d sections, before it were %d", len(after.Sections), len(before.Sections))
	}

	moved := 0
	for i, s := range after.Sections {
		was := before.Sections[i]
		if s.Name != was.Name || s.VirtualAddress != was.VirtualAddress || s.VirtualSize != was.VirtualSize {
			t.Errorf("section %d is %+v, was %+v", i, s.SectionHeader, was.SectionHeader)
		}
		if s.Offset%pageSize != 0 || s.Size%pageSize != 0 || s.Size < was.Size {
			t.Errorf("section %s is at %#x, %#x bytes long", s.Name, s.Offset, s.Size)
		}

		if s.Offset != was.Offset {
			moved++
		}
		if was.Offset == 0 {
			continue
		}

		want := file[was.Offset : was.Offset+was.Size]
		got := aligned[s.Offset : s.Offset+s.Size]
		if !bytes.HasPrefix(got, want) || len(bytes.Trim(got[len(want):], "\x00")) > 0 {
			t.Errorf("section %s has another content", s.Name)
		}
	}

	if moved == 0 {
		t.Error("no section has moved: the program shows nothing")
	}
	again, err := Align(aligned)
	if err != nil || !bytes.Equal(again, aligned) {
		t.Errorf("aligned twice it differs, %v", err)
	}
}

func TestAlignRefuses(t *testing.T) {
	file := goProgram(t)
	at := binary.LittleEndian.Uint32(file[lfanewAt:])
	optional := at + signatureSize + fileHeaderSize
	with := func(offset uint32, value uint32) []byte {
		changed := bytes.Clone(file)
		binary.LittleEndian.PutUint32(changed[offset:], value)
		return changed
	}

	first := optional + uint32(binary.LittleEndian.Uint16(file[at+signatureSize+optionalSizeAt:]))
	for name, bad := range map[string][]byte{
		"empty":                  nil,
		"text":                   []byte("#!/bin/sh\n"),
		"cut":                    file[:0x80],
		"headers_beyond_the_end": with(lfanewAt, 0xfffffff0),
		"no_signature":           with(at, 0),
		"signed":                 with(optional+directoriesAt+certificatesIndex*directorySize, 0x1000),
		"debug_data":             with(optional+directoriesAt+debugIndex*directorySize, 0x1000),
		"many_directories":       with(optional+directoryCountAt, 0xffffffff),
		"long_headers":           with(optional+headersSizeAt, 0xffffffff),
		"short_headers":          with(optional+headersSizeAt, 16),
		"section_outside":        with(first+rawDataAt, 0xfffff000),
		"huge_section":           with(first+rawSizeAt, 0xffffffff),
	} {
		if out, err := Align(bad); !errors.Is(err, ErrNot) {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
	}
}

func FuzzAlign(f *testing.F) {
	f.Add([]byte("MZ"))
	f.Fuzz(func(t *testing.T, file []byte) {
		aligned, err := Align(file)
		if err != nil {
			return
		}
		if again, err := Align(aligned); err != nil || !bytes.Equal(again, aligned) {
			t.Errorf("aligned twice it differs, %v", err)
		}
	})
}
