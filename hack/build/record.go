package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// versionName is a version in flags of the linker: {version}, {MODULE} or {MODULE bare}.
var versionName = regexp.MustCompile(`\{[^{}]+\}`)

// record is what the builds of this checkout have made and how long it took, in bin/.build.json.
type record struct {
	file string
	cold map[string]made // of a build from empty caches
	mu   sync.Mutex
	all  map[string]made
}

// coldRecord is the record of `make up` from empty caches on two cores: bin/.build.json without the stamps.
//
//go:embed cold.json
var coldRecord []byte

// made is how a step was made last: from what, how many packages it compiled, how long it took.
type made struct {
	Stamp     string  `json:"stamp,omitempty"`
	Packages  int     `json:"packages"`
	Seconds   float64 `json:"seconds"`
	Processor float64 `json:"processorSeconds"`
}

// readRecord reads the record. One that cannot be read is as none: then everything is built.
func readRecord(file string) *record {
	r := &record{
		file: file,
		cold: map[string]made{},
		all:  map[string]made{},
	}
	_ = json.Unmarshal(coldRecord, &r.cold) // TestColdRecord
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &r.all) != nil || r.all == nil {
		r.all = map[string]made{}
	}
	return r
}

func (r *record) made(name string) made {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[name]
}

// keep writes down how a step was made.
func (r *record) keep(name string, m made) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[name] = m
	text, err := json.MarshalIndent(r.all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.file+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(r.file+".new", r.file)
}

// upToDate reports whether a step of upstream's need not be made: its module's files, its flags and the compiler are as
// they were, and its programs are there. The modules that it requires never change, since go.sum has their hashes. Of
// Mullion's own programs the go command knows, in a second, what has changed.
func (b *builder) upToDate(s step) bool {
	stamp, err := b.stamp(s)
	return err == nil && stamp != "" && stamp == b.record.made(s.name).Stamp && b.there(s)
}

// stamp says what a step is made from, "" if it has to be looked at each time.
func (b *builder) stamp(s step) (string, error) {
	if !strings.HasPrefix(s.module, "upstream/") {
		return "", nil
	}
	ldflags, err := b.expand(s)
	if err != nil {
		return "", err
	}

	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s %s %q %q %q %q %v\n", b.goVersion, b.flags, s.system, s.modfile, s.packages, s.flags, ldflags, s.to, s.cgo)
	folder := filepath.Join(b.root, s.module)
	err = filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		fmt.Fprintf(h, "%s %d\n", strings.TrimPrefix(file, folder), len(text))
		h.Write(text)
		return err
	})

	return hex.EncodeToString(h.Sum(nil)), err
}

// there reports whether a step's programs and their further names are there.
func (b *builder) there(s step) bool {
	var files []string
	if trailing(s.to) == "" {
		files = append(files, s.to)
	} else {
		for _, p := range b.programs(s) {
			files = append(files, s.to+p)
		}
	}

	for name := range s.links {
		files = append(files, name)
	}

	for _, file := range files {
		if _, err := os.Stat(filepath.Join(b.bin, file)); err != nil {
			return false
		}
	}

	return true
}

// programs returns the names of the programs that a step puts into its folder.
func (b *builder) programs(s step) []string {
	packages := s.packages
	if len(packages) == 1 && packages[0] == "tool" {
		packages = toolsIn(filepath.Join(b.root, s.module, "go.mod"))
	}

	var names []string
	for _, p := range packages {
		name := filepath.Base(p)
		if majorVersion.MatchString(name) {
			name = filepath.Base(filepath.Dir(p))
		}
		if s.system == "windows" {
			name += ".exe"
		}
		names = append(names, name)
	}

	return names
}

// majorVersion is the last part of a package's path that is no program's name.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)
