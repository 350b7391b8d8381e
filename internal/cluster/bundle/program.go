package bundle

import (
	"bytes"
	"cmp"
	"debug/elf"
	"debug/pe"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"mullion.dev/mullion/internal/spec"
)

// WrongProgramError says that a file is not a program for the system that it is to run on.
type WrongProgramError struct {
	// File is its path, Is what it is, and System what it should be for.
	File, Is, System string
}

func (e *WrongProgramError) Error() string {
	return fmt.Sprintf("%s is %s, and not a program for %s on x86-64", e.File, e.Is, systemName(e.System))
}

// CheckProgram returns a WrongProgramError where a file is not a program of a system ("linux", "windows") on x86-64.
func CheckProgram(path, system string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return cmp.Or(err, error(&WrongProgramError{
			File:   path,
			Is:     "no file",
			System: system,
		}))
	}

	if is, machine := kind(f); is != system || machine != x86 {
		return &WrongProgramError{
			File:   path,
			Is:     describe(is, machine),
			System: system,
		}
	}

	return nil
}

// x86 is the machine that all programs are for.
const x86 = "x86-64"

// systemName returns a system's name for a person.
func systemName(system string) string {
	return map[string]string{spec.Linux: "Linux", spec.Windows: "Windows"}[system]
}

func describe(system, machine string) string {
	if system == "" {
		return "no program"
	}
	return fmt.Sprintf("a program for %s on %s", systemName(system), machine)
}

// kind returns the system and the machine that a program is for, by its first bytes; "" where it is none.
func kind(r io.ReaderAt) (system, machine string) {
	var head [64]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return "", ""
	}

	switch {
	case bytes.HasPrefix(head[:], []byte(elf.ELFMAG)):
		order := binary.ByteOrder(binary.LittleEndian)
		if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
			order = binary.BigEndian
		}
		id := elf.Machine(order.Uint16(head[18:]))
		return spec.Linux, machineName(map[elf.Machine]string{
			elf.EM_X86_64: x86, elf.EM_AARCH64: "arm64", elf.EM_386: "x86",
		}[id], uint16(id))

	case bytes.HasPrefix(head[:], []byte("MZ")):
		var header [6]byte
		at := binary.LittleEndian.Uint32(head[60:])
		if _, err := r.ReadAt(header[:], int64(at)); err != nil || !bytes.HasPrefix(header[:], []byte("PE\x00\x00")) {
			return "", ""
		}
		id := binary.LittleEndian.Uint16(header[4:])
		return spec.Windows, machineName(map[uint16]string{
			pe.IMAGE_FILE_MACHINE_AMD64: x86, pe.IMAGE_FILE_MACHINE_ARM64: "arm64", pe.IMAGE_FILE_MACHINE_I386: "x86",
		}[id], id)
	}

	return "", ""
}

func machineName(name string, id uint16) string { return cmp.Or(name, fmt.Sprintf("machine %#x", id)) }
