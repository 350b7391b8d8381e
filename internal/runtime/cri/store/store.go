// Package store owns what the CRI server remembers: pods and containers, in memory and as one checkpoint file each, so
// that a server started again knows them. It does not own what the engine knows, such as whether a container still
// runs. The state of a container is derived from its times, never stored; a pod has besides them whether it became
// ready:
//
//	Container  CreatedAt ── StartedAt ── FinishedAt      Sandbox  CreatedAt ── StoppedAt
//	           CREATED      RUNNING      EXITED                   READY        NOTREADY
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// Version is the version of the checkpoint files. A file of another version is an error of Open, not ignored.
const Version = 1

// ErrNotFound says that there is no object of that id.
var ErrNotFound = errors.New("not found")

// checkpoint is the content of a file.
type checkpoint[T any] struct {
	Version int `json:"version"`
	Object  T   `json:"object"`
}

// Store keeps objects of one kind by id. Objects are values: what Get returns is a copy to be changed only by Update.
// It is safe for concurrent use.
type Store[T any] struct {
	dir string

	mu      sync.RWMutex
	objects map[string]T
}

// Open reads the checkpoints in dir, which is made if it is not there. Half-written files of a crash are removed.
func Open[T any](dir string) (*Store[T], error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make store %q: %w", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read store %q: %w", dir, err)
	}

	s := &Store[T]{dir: dir, objects: map[string]T{}}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		id, isObject := strings.CutSuffix(e.Name(), ".json")
		if !isObject {
			if err := os.RemoveAll(path); err != nil {
				return nil, fmt.Errorf("clear store of %q: %w", path, err)
			}
			continue
		}

		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read checkpoint: %w", err)
		}
		var c checkpoint[T]
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("decode checkpoint %q: %w", path, err)
		}

		if c.Version != Version {
			return nil, fmt.Errorf("decode checkpoint %q: version is %d, this program knows %d", path, c.Version,
				Version)
		}
		s.objects[id] = c.Object
	}

	return s, nil
}

// Peek reads the objects in a folder that another process may be writing to; it changes nothing there. Objects that go
// meanwhile, or cannot be read, are left out. The error is os.ErrNotExist if there is no folder.
func Peek[T any](dir string) ([]T, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}

	var out []T
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		var c checkpoint[T]
		if err == nil && json.Unmarshal(data, &c) == nil && c.Version == Version {
			out = append(out, c.Object)
		}
	}

	return out, nil
}

// Put adds or replaces an object; when it returns, the object is on disk.
func (s *Store[T]) Put(id string, object T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(id, object)
}

// Update replaces the object of id by what change makes of it, and returns the result. If change returns an error, so
// does Update and nothing has changed; if the result cannot be written, Update returns it with the error. Other users
// of the store wait meanwhile, so change must not take long.
func (s *Store[T]) Update(id string, change func(T) (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.objects[id]
	if !ok {
		return old, fmt.Errorf("update %q: %w", id, ErrNotFound)
	}
	changed, err := change(old)
	if err != nil {
		return old, err
	}
	return changed, s.put(id, changed)
}

// Hold replaces the object of id in memory alone: what is on disk stays as it is, until the next Put or Update. It is
// for what has happened and could not be written. An object that is not there is not added.
func (s *Store[T]) Hold(id string, object T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[id]; ok {
		s.objects[id] = object
	}
}

func (s *Store[T]) put(id string, object T) error {
	data, err := json.Marshal(checkpoint[T]{Version: Version, Object: object})
	if err != nil {
		return fmt.Errorf("encode checkpoint %q: %w", id, err)
	}
	path := filepath.Join(s.dir, id+".json")
	if err := atomicfile.Write(path, data, 0o600); err != nil {
		return fmt.Errorf("write checkpoint %q: %w", path, err)
	}
	s.objects[id] = object
	return nil
}

// Get returns the object of id. A prefix of only one object's id stands for that object, as users of crictl expect.
func (s *Store[T]) Get(id string) (T, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if object, ok := s.objects[id]; ok {
		return object, nil
	}

	var found T
	matches := 0
	for key, object := range s.objects {
		if id != "" && strings.HasPrefix(key, id) {
			found = object
			matches++
		}
	}

	if matches == 1 {
		return found, nil
	}
	var none T
	return none, fmt.Errorf("find %q: %w", id, ErrNotFound)
}

// List returns the objects for which keep is true (nil keeps all) in the order of their ids.
func (s *Store[T]) List(keep func(T) bool) []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ids := make([]string, 0, len(s.objects))
	for id, object := range s.objects {
		if keep == nil || keep(object) {
			ids = append(ids, id)
		}
	}

	slices.Sort(ids)
	out := make([]T, len(ids))
	for i, id := range ids {
		out[i] = s.objects[id]
	}

	return out
}

// Delete forgets the object of id; one that is not there is no error.
func (s *Store[T]) Delete(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Remove(filepath.Join(s.dir, id+".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove checkpoint %q: %w", id, err)
	}
	delete(s.objects, id)
	return nil
}
