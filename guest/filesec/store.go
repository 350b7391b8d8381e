package filesec

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Store has the lists of files.
type Store interface {
	// Access and SetAccess read and write a file's list; nothing is handed on to what lies below.
	Access(path string) (List, error)
	SetAccess(path string, list List) error
}

// Replace gives a file a list: of the entries those that are the file's own, and of the folder above what the file
// inherits, unless the list is protected. What lies in a folder inherits its new list.
func Replace(s Store, path string, l List) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}

	if !l.Protected {
		above, err := s.Access(filepath.Dir(path))
		if err != nil {
			return fmt.Errorf("read the folder's list: %w", err)
		}
		l.Entries = slices.DeleteFunc(slices.Clone(l.Entries), func(e Entry) bool { return !e.Explicit() })
		l.Entries = append(l.Entries, above.Inherit(info.IsDir(), l.Owner)...)
	}

	l.Sort()
	if err := s.SetAccess(path, l); err != nil || !info.IsDir() {
		return err
	}

	return HandOn(s, path, l)
}

// HandOn gives what lies in a folder what it inherits from the folder's list. Links are left alone.
func HandOn(s Store, folder string, list List) error {
	inside, _ := os.ReadDir(folder) // what cannot be listed is not changed
	for _, entry := range inside {
		if entry.Type()&fs.ModeSymlink != 0 {
			continue
		}

		path := filepath.Join(folder, entry.Name())
		of, err := s.Access(path)
		if err != nil {
			return err
		}
		if of.Protected {
			continue
		}

		before := slices.Clone(of.Entries)
		of.Entries = slices.DeleteFunc(of.Entries, func(e Entry) bool { return !e.Explicit() })
		of.Entries = append(of.Entries, list.Inherit(entry.IsDir(), of.Owner)...)
		if !slices.Equal(before, of.Entries) {
			if err := s.SetAccess(path, of); err != nil {
				return err
			}
		}

		if entry.IsDir() {
			if err := HandOn(s, path, of); err != nil {
				return err
			}
		}
	}

	return nil
}

// Text returns a list in the language of security descriptors, with its owner if it says one
// (https://learn.microsoft.com/windows/win32/secauthz/security-descriptor-string-format).
func (l List) Text() string {
	var b strings.Builder
	if l.Owner != "" {
		b.WriteString("O:" + l.Owner)
	}
	b.WriteString("D:")
	if l.Protected {
		b.WriteString("P")
	}

	b.WriteString("AI")
	for _, e := range l.Entries {
		kind := "A"
		if e.Deny {
			kind = "D"
		}

		var flags strings.Builder
		for _, f := range []struct {
			bit  uint8
			text string
		}{{ObjectInherit, "OI"}, {ContainerInherit, "CI"}, {NoPropagate, "NP"}, {InheritOnly, "IO"}, {Inherited, "ID"}} {
			if e.Flags&f.bit != 0 {
				flags.WriteString(f.text)
			}
		}

		fmt.Fprintf(&b, "(%s;%s;0x%x;;;%s)", kind, flags.String(), e.Mask, e.SID)
	}

	return b.String()
}

// System is the store of the Windows that the program runs on.
type System struct{}

// Access implements Store.
func (System) Access(path string) (List, error) { return Of(path) }

// SetAccess implements Store.
func (System) SetAccess(path string, list List) error { return Set(path, list) }
