package journal_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/winserver/journal"
)

// What is recorded is on the disk at once, once, as it was first recorded, until it is dropped.
func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent", "journal.json")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Load(path); !errors.Is(err, journal.ErrNone) {
		t.Errorf("no journal: %v", err)
	}

	j := journal.New(path, "win-a")
	folder := journal.Entry{
		Kind: journal.Folder,
		Name: "/k",
		Had:  []string{"a"},
	}

	for _, e := range []journal.Entry{
		folder, {Kind: journal.Service, Name: "kubelet"}, {Kind: journal.Folder, Name: "/k", Made: true},
	} {
		if err := j.Add(e); err != nil {
			t.Fatal(err)
		}
	}

	read, err := journal.Load(path)
	if err != nil || read.Node != "win-a" || len(read.Entries) != 2 {
		t.Fatalf("%+v, %v", read, err)
	}
	if e, ok := read.Find(journal.Folder, "/k"); !ok || e.Made || len(e.Had) != 1 {
		t.Errorf("%+v, %v", e, ok)
	}

	for range 2 {
		if err := read.Drop(folder); err != nil {
			t.Error(err)
		}
	}

	if read, err = journal.Load(path); err != nil || len(read.Entries) != 1 {
		t.Errorf("%+v, %v", read, err)
	}
	if err := read.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

// A writer that was killed leaves the whole former journal, whatever it had written of the next.
func TestKilledWriter(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	path := filepath.Join(t.TempDir(), "journal.json")
	j := journal.New(path, "win-a")
	if err := j.Save(); err != nil {
		t.Fatal(err)
	}

	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	j.Entries = []journal.Entry{{Kind: journal.Service, Name: "kubelet"}}
	next, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}

	// A new file takes the place of the former in one step: while it is written, the former has its own inode.
	held, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := j.Save(); err != nil {
		t.Fatal(err)
	}

	former := make([]byte, len(whole)+1)
	if n, err := held.Read(former); err != nil || string(former[:n]) != string(whole) {
		t.Errorf("the former file was written into: %q, %v", former, err)
	}

	// A text that was cut is none, and is not taken for an empty journal.
	for cut := range len(next) {
		if err := os.WriteFile(path, next[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Load(path); err == nil || errors.Is(err, journal.ErrNone) {
			t.Fatalf("%q was read: %v", next[:cut], err)
		}
	}
}

func TestRefused(t *testing.T) {
	entry := func(e string) string { return `{"version": 1, "node": "a", "entries": [` + e + `]}` }
	for name, c := range map[string]struct{ text, says string }{
		"foreign version": {`{"version": 2}`, "version 2"},
		"no version":      {`{}`, "version 0"},
		"no JSON":         {"x", "invalid character"},
		"huge":            {strings.Repeat(" ", 5<<20), "larger than"},
		"the root":        {entry(`{"kind": "folder", "name": "/", "made": true}`), "is not the path"},
		"empty":           {entry(`{"kind": "folder", "made": true}`), "is not the path"},
		"a way out":       {entry(`{"kind": "folder", "name": "/k/../Windows", "made": true}`), "is not the path"},
		"a drive":         {entry(`{"kind": "folder", "name": "/k:stream", "made": true}`), "is not the path"},
		"a backslash":     {entry(`{"kind": "file", "name": "/k\\..\\Windows", "kept": "/k"}`), "is not the path"},
		"kept elsewhere":  {entry(`{"kind": "file", "name": "/k/a", "kept": "a"}`), "is not the path"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := journal.Load(path); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
