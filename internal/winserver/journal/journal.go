// Package journal owns the record of what mullion-agent has changed on a Windows Server: what `leave` takes back, and
// by which `join` knows, after a kill at any moment, what is its own. A change is recorded before it is made, so a
// record says at most too much, never too little.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// Version is that of the file's form. A file of another version is refused.
const Version = 1

// maxSize is how large a journal may be, in bytes.
const maxSize = 4 << 20

// Kind is a kind of change.
type Kind string

// The kinds.
const (
	// Folder is a folder that was made, or that was there with Had in it: what else is in it is the node's.
	Folder Kind = "folder"
	// File is a file that stands in the place of another, which is kept as Kept.
	File Kind = "file"
	// Service is a service that was made.
	Service Kind = "service"
	// Network is an HNS network that was made.
	Network Kind = "network"
	// Firewall is a rule of the firewall that was made.
	Firewall Kind = "firewall"
	// Route is a route that was made, named "10.213.0.0/16 192.0.2.10": to a network, by way of a neighbour.
	Route Kind = "route"
)

// Entry is one change.
type Entry struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"` // of a folder or a file its path
	// Made says of a folder that it was not there.
	Made bool     `json:"made,omitempty"`
	Had  []string `json:"had,omitempty"`
	Kept string   `json:"kept,omitempty"`
}

// Journal is the record of one node.
type Journal struct {
	Version int `json:"version"`
	// Node is the node's name, Server the API server's URL.
	Node   string `json:"node"`
	Server string `json:"server"`
	// Endpoint is that of the container runtime; Runtime says that the agent installed that.
	Endpoint string `json:"endpoint"`
	Runtime  bool   `json:"runtime"`
	// Network is the HNS network of the pods; empty: others bring it.
	Network string `json:"network,omitempty"`
	// Joined says that the node has been Ready once.
	Joined  bool    `json:"joined"`
	Entries []Entry `json:"entries"`

	path string
}

// ErrNone says that there is no journal: the server is no node of the agent's.
var ErrNone = errors.New("mullion-agent has joined this server to no cluster")

// New returns the journal of a node that has changed nothing yet. Nothing is written.
func New(path, node string) *Journal {
	return &Journal{
		Version: Version,
		Node:    node,
		path:    path,
	}
}

// Load reads a journal. The error wraps ErrNone if there is none.
func Load(path string) (*Journal, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", path, ErrNone)
	}

	if err == nil && info.Size() > maxSize {
		err = fmt.Errorf("it is larger than %d bytes", maxSize)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}

	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path}
	if err := json.Unmarshal(data, j); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}

	if j.Version != Version {
		return nil, fmt.Errorf(
			"read %s: it is of version %d, and this agent knows version %d: use the agent that wrote it", path, j.Version,
			Version)
	}

	for _, e := range j.Entries {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}

	return j, nil
}

// check refuses a path that is none of a folder or a file on C:, with slashes: what is recorded is removed.
func (e Entry) check() error {
	if e.Kind != Folder && e.Kind != File {
		return nil
	}
	names := []string{e.Name}
	if e.Kind == File {
		names = append(names, e.Kept)
	}

	for _, name := range names {
		if !strings.HasPrefix(name, "/") || name == "/" || slashpath.Clean(name) != name ||
			strings.ContainsAny(name, `\:`) {
			return fmt.Errorf("%q is not the path of a %s", name, e.Kind)
		}
	}

	return nil
}

// Save writes the journal. Its folder has to be there.
func (j *Journal) Save() error { return atomicfile.WriteJSON(j.path, j) }

// Find returns the record of a change.
func (j *Journal) Find(kind Kind, name string) (Entry, bool) {
	i := j.index(kind, name)
	if i < 0 {
		return Entry{}, false
	}
	return j.Entries[i], true
}

func (j *Journal) index(kind Kind, name string) int {
	return slices.IndexFunc(j.Entries, func(e Entry) bool { return e.Kind == kind && e.Name == name })
}

// Add records a change that is about to be made. A change that is on record stays as it was first recorded.
func (j *Journal) Add(e Entry) error {
	if j.index(e.Kind, e.Name) >= 0 {
		return nil
	}
	j.Entries = append(j.Entries, e)
	return j.Save()
}

// Drop forgets a change that has been taken back.
func (j *Journal) Drop(e Entry) error {
	i := j.index(e.Kind, e.Name)
	if i < 0 {
		return nil
	}
	j.Entries = slices.Delete(j.Entries, i, i+1)
	return j.Save()
}

// Remove removes the journal itself, and its folder if that is empty.
func (j *Journal) Remove() error {
	if err := os.Remove(j.path); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(j.path)) // somebody may have put something there
	return nil
}
