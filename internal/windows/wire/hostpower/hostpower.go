// Package hostpower owns the file by which a program on a Windows host asks that the host is restarted or switched off.
// The host's programs write it, the supervisor of the cluster reads it as one that anybody may have written: pods that
// have a folder of C: mounted write there too.
package hostpower

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/base/beneath"
)

// Path is the file's place on the host's C:, with slashes.
const Path = "/ProgramData/Mullion/power.json"

// mostBytes is more than a request has.
const mostBytes = 4096

// ErrPending says that something was asked for already.
var ErrPending = errors.New("a shutdown has been scheduled already")

// Request is what is asked for.
type Request struct {
	// Restart is whether the host starts again.
	Restart bool `json:"restart"`
	// At is when the host is to end.
	At time.Time `json:"at"`
}

// Ask writes a request. The error is ErrPending if there is one.
func Ask(file string, r Request) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}

	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ErrPending
	}
	if err != nil {
		return fmt.Errorf("ask for the host's end: %w", err)
	}

	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Close(), os.Remove(file))
	}
	return f.Close()
}

// Cancel takes a request back, and reports whether there was one.
func Cancel(file string) (bool, error) {
	err := os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Read reads the request on a host's C:, the folder drive of the machine. ok is false if there is none, or if it is
// being written. Links that lead out of the drive are not followed: a container that has a part of C: mounted may make
// them.
func Read(drive string) (r Request, ok bool, err error) {
	root, err := os.OpenRoot(drive)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	defer root.Close()

	text, err := beneath.Read(root, Path[1:], mostBytes)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(text) == 0) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}

	if err := json.Unmarshal(text, &r); err != nil {
		return r, false, fmt.Errorf("read %q in %q: %w", Path, drive, err)
	}

	return r, true, nil
}

// Clear removes the request on a host's C:. A missing request is no error.
func Clear(drive string) error {
	root, err := os.OpenRoot(drive)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(Path[1:]); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
