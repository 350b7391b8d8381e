// Package programs judges Windows programs by what they import: what of it neither their image, nor Mullion, nor Wine
// has. It reads images and folders; it runs nothing. What a program looks up by GetProcAddress it cannot see. The
// programs may be hostile: their number, their sizes and their tables are bounded.
package programs

import (
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/windows/pefile"
)

// Bounds of one image or folder.
const (
	maxPrograms = 50_000
	maxNames    = 128 << 20 // bytes of names of imports and exports
)

// Set is the programs and libraries of one image or folder, by their paths with slashes from its top (C:\ of an image).
// Windows does not tell letter cases apart, and neither does Set.
type Set struct {
	files   map[string]*program   // by path in lower case
	config  map[string]bool       // runtimeconfig.json files, by path in lower case
	byName  map[string][]*program // by file name in lower case; made by Judge
	names   int
	inImage bool
}

// program is one PE file.
type program struct {
	path    string // as it is written
	err     error  // it is malformed
	pe      pefile.File
	exports map[string]bool // names, and "#1" for ordinals
}

// NewSet returns an empty set. inImage says that its top is the drive C: of an image.
func NewSet(inImage bool) *Set {
	return &Set{
		files:   map[string]*program{},
		config:  map[string]bool{},
		inImage: inImage,
	}
}

// key returns the form by which a file is found.
func key(name string) string { return strings.ToLower(path.Clean("/" + name)) }

// Add reads a file. One that is no program or library, and no configuration of one, is passed over.
func (s *Set) Add(name string, r io.ReaderAt) error {
	k := key(name)
	delete(s.files, k)
	delete(s.config, k)
	if strings.HasSuffix(k, ".runtimeconfig.json") {
		s.config[k] = true
		return nil
	}

	f, err := pefile.Read(r)
	if errors.Is(err, pefile.ErrNot) {
		return nil
	}
	if len(s.files) >= maxPrograms {
		return fmt.Errorf("there are more than %d programs and libraries", maxPrograms)
	}

	p := &program{path: strings.TrimPrefix(path.Clean("/"+name), "/"), err: err}
	s.files[k] = p
	if err != nil {
		return nil //nolint:nilerr // Judge reports it
	}

	p.exports = make(map[string]bool, len(f.Exports))
	for _, e := range f.Exports {
		p.exports[fmt.Sprintf("#%d", e.Ordinal)] = true
		p.exports[e.Name] = true
		s.names += len(e.Name) + 64
	}

	for _, i := range slices.Concat(f.Imports, f.Delayed) {
		for _, fn := range i.Functions {
			s.names += len(fn.Name) + 64
		}
	}

	if s.names > maxNames {
		return fmt.Errorf("the names of imports and exports take more than %d MiB", maxNames>>20)
	}
	p.pe = *f
	p.pe.Forget()
	return nil
}

// Link makes name another name of an earlier file.
func (s *Set) Link(name, old string) {
	if p := s.files[key(old)]; p != nil {
		again := *p
		again.path = strings.TrimPrefix(path.Clean("/"+name), "/")
		s.files[key(name)] = &again
	}
}

// Remove removes a file, or everything in a folder.
func (s *Set) Remove(name string) {
	k := key(name)
	delete(s.files, k)
	delete(s.config, k)
	s.RemoveBelow(name)
}

// RemoveBelow removes everything in a folder.
func (s *Set) RemoveBelow(name string) {
	in := func(k string) bool { return strings.HasPrefix(k, strings.TrimSuffix(key(name), "/")+"/") }
	maps.DeleteFunc(s.files, func(k string, _ *program) bool { return in(k) })
	maps.DeleteFunc(s.config, func(k string, _ bool) bool { return in(k) })
}

// Len returns the number of programs and libraries.
func (s *Set) Len() int { return len(s.files) }

// shown returns a path as messages show it.
func (s *Set) shown(p *program) string {
	if s.inImage {
		return `C:\` + strings.ReplaceAll(p.path, "/", `\`)
	}
	return p.path
}

// starts reports whether a file is a program for this machine, which has imports to look at.
func (p *program) starts() bool { return !p.pe.Library && p.native() }

// native reports whether a file is machine code for x86-64.
func (p *program) native() bool {
	return p.err == nil && p.pe.Machine == pe.IMAGE_FILE_MACHINE_AMD64 && !p.pe.Managed &&
		p.pe.Subsystem != pe.IMAGE_SUBSYSTEM_NATIVE
}

// framework reports whether a file is a program for .NET Framework: a program of .NET has machine code at its start,
// and its configuration beside it (https://learn.microsoft.com/dotnet/core/runtime-config/).
func (s *Set) framework(p *program) bool {
	if p.err != nil || !p.pe.Managed || p.pe.Library {
		return false
	}
	k := key(p.path)
	return !s.config[strings.TrimSuffix(k, path.Ext(k))+".runtimeconfig.json"]
}
