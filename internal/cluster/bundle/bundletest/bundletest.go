// Package bundletest owns bundles for tests: programs of a few bytes, of which kube-apiserver says a version, and
// programs that say how they were built. It has no Kubernetes.
package bundletest

import (
	"bytes"
	"debug/elf"
	"debug/pe"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// Programs returns the programs of a whole bundle of a version as upstream releases it, by their places: without etcd.
func Programs(version string) map[string][]byte {
	all := map[string][]byte{"server/bin/kube-apiserver": Linux("Kubernetes " + version + "\n")}
	for _, name := range []string{"kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"} {
		all["server/bin/"+name] = Linux(name + " " + version)
	}
	for _, name := range []string{"kubelet.exe", "kube-proxy.exe"} {
		all["node/bin/"+name] = Windows(name + " " + version)
	}
	return all
}

// Put writes files below a folder, and returns the folder.
func Put(t *testing.T, dir string, files map[string][]byte) string {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Linux returns a program for Linux on x86-64 that prints a text, whatever its arguments are.
func Linux(text string) []byte {
	code := []byte{
		0xb8, 1, 0, 0, 0, // mov eax, 1: write
		0xbf, 1, 0, 0, 0, // mov edi, 1: standard output
		0x48, 0x8d, 0x35, 16, 0, 0, 0, // lea rsi, the text
		0xba, 0, 0, 0, 0, // mov edx, its length
		0x0f, 0x05, // syscall
		0xb8, 60, 0, 0, 0, // mov eax, 60: exit
		0x31, 0xff, // xor edi, edi
		0x0f, 0x05, // syscall
	}
	binary.LittleEndian.PutUint32(code[18:], uint32(len(text)))
	const base, headers = 0x400000, 64 + 56
	size := uint64(headers + len(code) + len(text))
	var out bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident:     [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
			Type:      uint16(elf.ET_EXEC),
			Machine:   uint16(elf.EM_X86_64),
			Version:   1,
			Entry:     base + headers,
			Phoff:     64,
			Ehsize:    64,
			Phentsize: 56,
			Phnum:     1,
		},
		elf.Prog64{
			Type:   uint32(elf.PT_LOAD),
			Flags:  uint32(elf.PF_R | elf.PF_X),
			Vaddr:  base,
			Paddr:  base,
			Filesz: size,
			Memsz:  size,
			Align:  0x1000,
		},
		code, []byte(text),
	} {
		_ = binary.Write(&out, binary.LittleEndian, part) // to memory
	}

	return out.Bytes()
}

// Windows returns the beginning of a program for Windows on x86-64, with a text in it. It does not run.
func Windows(text string) []byte {
	head := make([]byte, 64)
	copy(head, "MZ")
	head[60] = 64
	head = append(head, "PE\x00\x00"...)
	return append(binary.LittleEndian.AppendUint16(head, 0x8664), text...)
}

// Go returns a program for a system ("linux", "windows") on x86-64 with the build information of a Go program. It does
// not run.
func Go(system string, info debug.BuildInfo) []byte {
	const at, address = 256, 0x1000 // the information's place in the file and in memory
	data := buildInfo(info.String())
	var out bytes.Buffer
	put := func(parts ...any) {
		for _, part := range parts {
			_ = binary.Write(&out, binary.LittleEndian, part) // to memory
		}
	}

	if system == "windows" {
		put(append([]byte("MZ"), make([]byte, 58)...), uint32(96), make([]byte, 32), []byte("PE\x00\x00"),
			pe.FileHeader{Machine: pe.IMAGE_FILE_MACHINE_AMD64, NumberOfSections: 1},
			pe.SectionHeader32{
				Name:             [8]uint8{'.', 'd', 'a', 't', 'a'},
				VirtualSize:      uint32(len(data)),
				VirtualAddress:   address,
				SizeOfRawData:    uint32(len(data)),
				PointerToRawData: at,
				Characteristics: pe.IMAGE_SCN_CNT_INITIALIZED_DATA | pe.IMAGE_SCN_MEM_READ |
					pe.IMAGE_SCN_MEM_WRITE,
			})
	} else {
		put(elf.Header64{
			Ident:     [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
			Type:      uint16(elf.ET_EXEC),
			Machine:   uint16(elf.EM_X86_64),
			Version:   1,
			Phoff:     64,
			Ehsize:    64,
			Phentsize: 56,
			Phnum:     1,
		}, elf.Prog64{
			Type:   uint32(elf.PT_LOAD),
			Flags:  uint32(elf.PF_R | elf.PF_W),
			Off:    at,
			Vaddr:  address,
			Filesz: uint64(len(data)),
			Memsz:  uint64(len(data)),
		})
	}

	put(make([]byte, at-out.Len()), data)
	return out.Bytes()
}

// buildInfo returns the build information as Go's linker writes it, with the text of debug.BuildInfo.
// https://github.com/golang/go/blob/go1.26.0/src/debug/buildinfo/buildinfo.go
func buildInfo(text string) []byte {
	if text != "" { // between marks, each of 16 bytes
		text = string(make([]byte, 16)) + text + string(make([]byte, 16))
	}
	data := append([]byte("\xff Go buildinf:\x08\x02"), make([]byte, 16)...)
	for _, s := range []string{"go1.26.0", text} {
		data = append(binary.AppendUvarint(data, uint64(len(s))), s...)
	}
	return append(data, make([]byte, 16)...)
}
