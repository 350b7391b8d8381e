package server

import (
	"errors"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/atomicfile"
)

// FileStore keeps the state in one file.
type FileStore struct{ Path string }

// Load reads the file; nil when there is none.
func (f FileStore) Load() ([]byte, error) {
	data, err := os.ReadFile(f.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Save writes the file so that after a crash it is there whole, old or new.
func (f FileStore) Save(data []byte) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(f.Path, data, 0o600)
}
