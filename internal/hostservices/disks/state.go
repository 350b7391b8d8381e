package disks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// stateVersion is that of the file.
const stateVersion = 1

// state is what is kept of a host's disks beside their bytes.
type state struct {
	Version int      `json:"version"`
	Disks   []record `json:"disks"`
	// Paths are the access paths of volumes, by the partition's GUID.
	Paths map[string][]string `json:"paths,omitempty"`
}

// record is a disk. Its file is in the folder, called by the serial number, unless it is a remote one.
type record struct {
	Number uint32 `json:"number"`
	// Remote is the key of a remote disk.
	Remote   string `json:"remote,omitempty"`
	Serial   string `json:"serial"`
	Name     string `json:"name"`
	Offline  bool   `json:"offline,omitempty"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

func stateFile(dir string) string { return filepath.Join(dir, "disks.json") }

// load reads the state; a host without disks has no file.
func load(dir string) (state, error) {
	s := state{Version: stateVersion}
	data, err := os.ReadFile(stateFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil && s.Version != stateVersion {
		err = fmt.Errorf("it is of version %d", s.Version)
	}
	if err != nil {
		return s, fmt.Errorf("read the disks of the host: %w", err)
	}

	return s, nil
}

// save writes the state whole or not at all.
func (s *Server) save() error {
	if err := atomicfile.WriteJSON(stateFile(s.Dir), s.state); err != nil {
		return fmt.Errorf("keep the disks of the host: %w", err)
	}
	return nil
}

// free returns the smallest number that no disk has. Number 0 is that of Windows' own disk, which is not there.
func (s *Server) free() uint32 {
	n := uint32(1)
	for slices.ContainsFunc(s.state.Disks, func(r record) bool { return r.Number == n }) {
		n++
	}
	return n
}
