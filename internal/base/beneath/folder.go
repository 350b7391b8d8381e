package beneath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// OpenFolder opens a folder in another one, "." for that itself, to list it or to name what is in it. A pipe in its
// place, which would hold up a plain open, is an error as any other file is.
func OpenFolder(folder *os.Root, name string) (*os.File, error) {
	return folder.OpenFile(name, os.O_RDONLY|folderOnly, 0)
}

// ReadFolder lists a folder of at most so many entries, 0 for any number, sorted by name. The error is os.ErrNotExist
// if there is none, and ErrUnfit if it has more.
func ReadFolder(folder *os.Root, name string, most int) ([]fs.DirEntry, error) {
	f, err := OpenFolder(folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	n := most + 1
	if most == 0 {
		n = -1
	}
	entries, err := f.ReadDir(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if most > 0 && len(entries) > most {
		return nil, &UnfitError{
			Path: filepath.Join(folder.Name(), name),
			What: fmt.Sprintf("a folder of more than %d entries, the most that are read", most),
		}
	}

	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}
