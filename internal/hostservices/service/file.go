package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// File is where a service keeps what it remembers: a T as JSON, which has the version of its form as "version". Only
// root reads it.
type File[T any] struct {
	Path string
	// What says in errors what is kept there.
	What string
	// Version is that of the form which is written, and the only one that is read.
	Version int
}

// Load reads the file. A host that has none remembers what none says.
func (f File[T]) Load(none T) (T, error) {
	data, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}

	var kept T
	var form struct {
		Version int `json:"version"`
	}

	if err == nil {
		err = errors.Join(json.Unmarshal(data, &form), json.Unmarshal(data, &kept))
	}
	if err == nil && form.Version != f.Version {
		err = fmt.Errorf("it is of version %d", form.Version)
	}
	if err != nil {
		return none, fmt.Errorf("read %s from %q: %w", f.What, f.Path, err)
	}

	return kept, nil
}

// Save writes the file whole or not at all.
func (f File[T]) Save(kept T) error {
	if err := atomicfile.WriteJSON(f.Path, kept); err != nil {
		return fmt.Errorf("keep %s: %w", f.What, err)
	}
	return nil
}
