package disks

import (
	"path/filepath"
	"slices"

	"mullion.dev/mullion/internal/hostservices/service"
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

// stateFile returns the file of the state in a folder.
func stateFile(dir string) service.File[state] {
	return service.File[state]{
		Path:    filepath.Join(dir, "disks.json"),
		What:    "the disks of the host",
		Version: stateVersion,
	}
}

func (s *Server) save() error { return stateFile(s.Dir).Save(s.state) }

// free returns the smallest number that no disk has. Number 0 is that of Windows' own disk, which is not there.
func (s *Server) free() uint32 {
	n := uint32(1)
	for slices.ContainsFunc(s.state.Disks, func(r record) bool { return r.Number == n }) {
		n++
	}
	return n
}
