package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/network/hns"
)

// Store keeps the model's state: the whole, and behind it a line for each call that changed something.
type Store interface {
	// Load returns all of it; nil when there is none yet.
	Load() ([]byte, error)
	// Replace puts a new whole in the place of all.
	Replace(data []byte) error
	// Append adds a line. After an error there may be a part of it: only Replace helps.
	Append(line []byte) error
}

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

// Replace writes the file so that after a crash it is there whole, old or new.
func (f FileStore) Replace(data []byte) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(f.Path, data, 0o600)
}

// Append adds the line in one write, and leaves it to the kernel to bring it to the disk: it survives the end of this
// process at any moment, and a loss of power may cost the last calls, whose pods are gone then as well.
func (f FileStore) Append(line []byte) error {
	file, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("append to HNS state: %w", err)
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Close())
}

// compactAt is how many bytes at least are appended before the state is written anew. To a state of more than half of
// that, twice its own size is appended before.
const compactAt = 4 << 20

// journal decides when the state is appended to and when it is written anew.
type journal struct {
	store    Store
	whole    int // bytes that the state had when it was written last
	appended int // since then
	torn     bool
}

// append keeps what the model's calls since its last Commit changed.
func (j *journal) append(m *hns.Model) error {
	if j.torn || j.appended > max(compactAt, 2*j.whole) {
		return j.rewrite(m)
	}
	records, err := m.Records()
	if err != nil {
		return err
	}
	line := hns.Line(records)
	if err := j.store.Append(line); err != nil {
		j.torn = true
		return err
	}
	j.appended += len(line)
	return nil
}

// rewrite keeps the model as it is now.
func (j *journal) rewrite(m *hns.Model) error {
	data, err := m.Save()
	if err == nil {
		err = j.store.Replace(data)
	}
	if err != nil {
		j.torn = true
		return err
	}
	j.whole, j.appended, j.torn = len(data), 0, false
	return nil
}
