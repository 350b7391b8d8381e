// Package elflibs finds the libraries that ELF programs of this machine need, so that they can run where only what was
// shown or copied is there. It runs nothing.
package elflibs

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Closure returns the ELF files that programs and libs need, with the loader of programs, as paths whose folders are no
// links (the file itself may be a link, because it is opened by its name). It does as ldd does, without running
// anything. Of byName, libraries that are opened by name at run time, it takes those that the machine has. Libraries
// named in without are left out.
func Closure(programs, libs, byName, without []string) ([]string, error) {
	dirs := libraryDirs()
	var queue, found []string
	add := func(path string) error {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return err
		}
		path = filepath.Join(dir, filepath.Base(path))
		if !slices.Contains(found, path) {
			found = append(found, path)
			queue = append(queue, path)
		}

		return nil
	}

	for _, p := range programs {
		interp, err := interpreter(p)
		if err != nil {
			return nil, err
		}
		if err := add(interp); err != nil {
			return nil, err
		}
	}

	for _, name := range byName {
		if p := findLibrary(dirs, name); p != "" {
			if err := add(p); err != nil {
				return nil, err
			}
		}
	}

	queue = append(queue, slices.Concat(programs, libs)...)
	for len(queue) > 0 {
		needed, err := importsOf(queue[0])
		if err != nil {
			return nil, err
		}

		for _, name := range needed {
			if slices.Contains(without, name) {
				continue
			}
			p := findLibrary(dirs, name)
			if p == "" {
				return nil, fmt.Errorf("find library %q, which %q needs: %w", name, queue[0], fs.ErrNotExist)
			}

			if err := add(p); err != nil {
				return nil, err
			}
		}

		queue = queue[1:]
	}

	slices.Sort(found)
	return found, nil
}

func importsOf(path string) ([]string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read ELF file %q: %w", path, err)
	}
	libs, err := f.ImportedLibraries()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read ELF file %q: %w", path, err)
	}
	return libs, nil
}

// interpreter returns the dynamic loader that a program names, for example /lib64/ld-linux-x86-64.so.2.
func interpreter(path string) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("read ELF file %q: %w", path, err)
	}
	defer f.Close()

	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err != nil {
				return "", fmt.Errorf("read ELF file %q: %w", path, err)
			}
			return strings.TrimRight(string(b), "\x00"), nil
		}
	}

	return "", fmt.Errorf("read ELF file %q: it names no dynamic loader", path)
}

// libraryDirs returns the folders that ld.so searches: the configured ones, then the built-in ones.
func libraryDirs() []string {
	var dirs []string
	files, err := filepath.Glob("/etc/ld.so.conf.d/*.conf")
	if err != nil {
		files = nil // only for a malformed pattern
	}

	for _, file := range append(files, "/etc/ld.so.conf") {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") {
				dirs = append(dirs, line)
			}
		}
	}

	return append(dirs, "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib",
		"/usr/lib")
}

// findLibrary returns the first 64-bit x86 library of that name, or "".
func findLibrary(dirs []string, name string) string {
	for _, dir := range dirs {
		p := filepath.Join(dir, name)
		f, err := elf.Open(p)
		if err != nil {
			continue
		}
		ok := f.Machine == elf.EM_X86_64
		if f.Close() == nil && ok {
			return p
		}
	}

	return ""
}
