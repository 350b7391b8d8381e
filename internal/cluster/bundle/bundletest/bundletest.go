// Package bundletest owns bundles for tests: programs of a few bytes, of which kube-apiserver says a version. It has no
// Kubernetes.
package bundletest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// Programs are those of a whole bundle of a version as upstream releases it, by their places: without etcd.
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

// Linux is a program for Linux on x86-64 that prints a text, whatever its arguments are.
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

// Windows is the beginning of a program for Windows on x86-64, with a text in it. It does not run.
func Windows(text string) []byte {
	head := make([]byte, 64)
	copy(head, "MZ")
	head[60] = 64
	head = append(head, "PE\x00\x00"...)
	return append(binary.LittleEndian.AppendUint16(head, 0x8664), text...)
}
