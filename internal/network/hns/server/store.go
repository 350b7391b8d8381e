package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/network/hns"
)

// Store keeps the model's state: a whole state, and after it a line for each call that changed something.
type Store interface {
	// Load returns all objects, nil before the first one was stored.
	Load() ([]byte, error)
	// Replace replaces everything by a new whole state.
	Replace(data []byte) error
	// Append adds a line. After an error a part of the line may be there, and the next call must be Replace.
	Append(line []byte) error
}

// FileStore keeps the state in one file.
type FileStore struct{ Path string }

// Load reads the file, nil without one.
func (f FileStore) Load() ([]byte, error) {
	data, err := os.ReadFile(f.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Replace writes the file so that after a crash it is complete, old or new.
func (f FileStore) Replace(data []byte) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(f.Path, data, 0o600)
}

// Append adds the line in one write, and leaves it to the kernel to bring it to the disk. So it survives the end of
// this process at any moment. A loss of power may cost the last calls, but then their pods are gone as well.
func (f FileStore) Append(line []byte) error {
	file, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("append to HNS state: %w", err)
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Close())
}

// compactAt is how many bytes are appended at least before the whole state is written anew. For a state of more than
// half that size, it is twice the state's size.
const compactAt = 4 << 20

// journal decides when the state is appended to and when it is written anew.
type journal struct {
	store    Store
	whole    int // bytes that the state had when it was written last
	appended int // since then
	torn     bool
}

// append stores what the calls since the model's last Commit changed.
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

// rewrite stores the whole model as it is now.
func (j *journal) rewrite(m *hns.Model) error {
	data, err := m.Save()
	if err == nil {
		err = j.store.Replace(data)
	}
	if err != nil {
		j.torn = true
		return err
	}

	j.whole = len(data)
	j.appended = 0
	j.torn = false
	return nil
}
