package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// record is what is kept of a volume or of a snapshot.
type record struct {
	Size int64 `json:"size"`
	// Source is the ID of the volume or the snapshot that it was made from.
	Source string `json:"source,omitempty"`
	// Node is the node that a volume is attached to.
	Node string `json:"node,omitempty"`
	// Targets are the paths where a volume is published.
	Targets []string `json:"targets,omitempty"`
	// Own says that a volume goes with its pod.
	Own     bool      `json:"own,omitempty"`
	Created time.Time `json:"created"`
}

// What a store has. Each has a folder of its name, with a folder for each.
const (
	volumes   = "volumes"
	snapshots = "snapshots"
)

// store keeps volumes and snapshots: a folder for each, and a record. What has no record is not there: a folder
// without one is what was left when its maker was killed.
type store struct {
	files folders
	// place says where the store is, in IDs: name@place.
	place string
}

// id returns the ID of a volume or a snapshot.
func (s store) id(name string) string { return name + "@" + s.place }

// placeOf returns where a volume or a snapshot is, by its ID.
func placeOf(id string) string {
	_, place, _ := strings.Cut(id, "@")
	return place
}

// names are those that volumes and snapshots may have; the longest that CSI has are of 128 bytes.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// nameOf returns the name in an ID, or is a name.
func nameOf(id string) (string, error) {
	name, _, _ := strings.Cut(id, "@")
	if !names.MatchString(name) {
		return "", status.Errorf(codes.InvalidArgument, "%q is no name of a volume or a snapshot", name)
	}
	return name, nil
}

func recordOf(kind, name string) string { return "records/" + kind + "-" + name + ".json" }

// find returns the record of a volume or a snapshot by its ID.
func (s store) find(kind, id string) (string, record, error) {
	var r record
	name, err := nameOf(id)
	if err != nil {
		return "", r, status.Errorf(codes.NotFound, "%s: %q is not there", kind, id)
	}
	data, err := s.files.Read(recordOf(kind, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", r, status.Errorf(codes.NotFound, "%s: %q is not there", kind, id)
	}

	if err != nil {
		return "", r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return "", r, fmt.Errorf("read the record of %q: %w", id, err)
	}
	return name, r, nil
}

// write keeps a record.
func (s store) write(kind, name string, r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := s.files.Make("records"); err != nil {
		return err
	}
	return s.files.Write(recordOf(kind, name), data)
}

// make makes the folder of a volume or a snapshot, as a copy of the folder from, or empty if that is "".
func (s store) make(kind, name, from string, r record) error {
	if err := s.files.Make(kind); err != nil {
		return err
	}
	folder := kind + "/" + name
	if err := s.files.Remove(folder); err != nil {
		return err
	}

	var err error
	if from == "" {
		err = s.files.Make(folder)
	} else {
		err = s.files.Copy(from, folder)
	}
	if err != nil {
		return err
	}

	return s.write(kind, name, r)
}

// remove removes a volume or a snapshot. It succeeds if there is none.
func (s store) remove(kind, id string) error {
	name, err := nameOf(id)
	if err != nil {
		return nil //nolint:nilerr // nothing has such a name
	}
	if err := s.files.Remove(kind + "/" + name); err != nil {
		return err
	}
	return s.files.Remove(recordOf(kind, name))
}
