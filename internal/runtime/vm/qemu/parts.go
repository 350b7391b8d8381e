package qemu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Parts are the files that a virtual machine is made of.
type Parts struct {
	// QEMU and Virtiofsd are programs of the distribution.
	QEMU, Virtiofsd string
	// Kernel is the guest's, a bzImage. Modules are files of its modules, in the order in which they are loaded.
	Kernel  string
	Modules []string
	// Agent is the guest's first process, Runc starts its containers. Both are linked statically.
	Agent, Runc string
}

// Places where distributions have the programs, in the order in which they are looked for.
func qemus() []string {
	return []string{"/usr/bin/qemu-system-x86_64", "/usr/libexec/qemu-kvm"}
}

// The second is that of qemu 7, written in C; from Debian 13 on it is a program of its own, written in Rust.
func virtiofsds() []string {
	return []string{"/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd", "/usr/lib/virtiofsd"}
}

// KernelFolder is the folder beside Mullion's programs with the guest's kernel and its modules.
const KernelFolder = "hyperv"

// Missing says what a machine lacks for virtual machines.
type Missing struct{ What []string }

// Error names what is missing.
func (m *Missing) Error() string {
	return "there is no " + strings.Join(m.What, " and no ") + " on this machine"
}

// Find looks for the parts. bin is the folder of Mullion's programs. The error is a *Missing.
func Find(bin string) (Parts, error) {
	dir := filepath.Join(bin, KernelFolder)
	p := Parts{
		QEMU:      first(qemus()),
		Virtiofsd: first(append([]string{filepath.Join(dir, "virtiofsd")}, virtiofsds()...)),
		Kernel:    first([]string{filepath.Join(dir, "vmlinuz")}),
		Agent:     first([]string{filepath.Join(bin, "mullion-vm")}),
		Runc:      first([]string{filepath.Join(bin, "runc")}),
	}

	var missing []string
	for _, part := range []struct{ what, path string }{
		{"QEMU (Debian's package qemu-system-x86)", p.QEMU},
		{"virtiofsd (Debian's package virtiofsd)", p.Virtiofsd},
		{fmt.Sprintf("kernel for guests (%s)", filepath.Join(dir, "vmlinuz")), p.Kernel},
		{"mullion-vm", p.Agent},
		{"runc", p.Runc},
	} {
		if part.path == "" {
			missing = append(missing, part.what)
		}
	}

	modules, err := os.ReadDir(filepath.Join(dir, "modules"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	for _, m := range modules { // by name, which is the order
		p.Modules = append(p.Modules, filepath.Join(dir, "modules", m.Name()))
	}

	if len(missing) > 0 {
		return p, &Missing{missing}
	}

	return p, nil
}

func first(paths []string) string {
	i := slices.IndexFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	})
	if i < 0 {
		return ""
	}
	return paths[i]
}
