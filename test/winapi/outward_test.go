//go:build wine

package winapi

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// makeOutwardLinks makes folders of links that lead out of all drives, one for each test that may spoil them, and
// returns the folder to which they lead.
func makeOutwardLinks(t *testing.T, p prefix) (victim string) {
	t.Helper()
	victim = filepath.Join(t.TempDir(), "victim")
	for name, content := range victimFiles() {
		path := filepath.Join(victim, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink("inner", filepath.Join(victim, "folder/link")); err != nil {
		t.Fatal(err)
	}

	climb := strings.Repeat("../", 40) + victim
	links := map[string]string{
		"file": victim + "/file", "folder": victim + "/folder", "nothing": victim + "/nothing",
		"climb-file": climb + "/file", "climb-folder": climb + "/folder", "climb-nothing": climb + "/nothing",
		"chain-file": "file", "chain-folder": "folder",
		"loop-a": "loop-b", "loop-b": "loop-a",
		"proc-folder": "/proc/self/root" + victim + "/folder", "proc-nothing": "/proc/self/root" + victim + "/nothing",
		"sub/folder": victim + "/folder",
	}

	for _, dir := range []string{
		"see", "follow", "below", "walk", "remove", "remove-all", "remove-each", "handle", "rename", "cmd",
	} {
		dir = filepath.Join(p.dir, "drive_c/outward", dir)
		if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "plain"), nil, 0o644); err != nil {
			t.Fatal(err)
		}

		for name, text := range links {
			if err := os.Symlink(text, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}

	makeFarLinks(t, filepath.Join(p.dir, "drive_c/outward/far"), victim)
	return victim
}

// makeFarLinks makes links to folder and file of victim at the end of a tree deeper than the longest path of Linux.
func makeFarLinks(t *testing.T, top, victim string) {
	t.Helper()
	if err := os.Mkdir(top, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(top)
	if err != nil {
		t.Fatal(err)
	}

	for range 25 {
		name := strings.Repeat("d", 200)
		if err := dir.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := dir.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}

		_ = dir.Close()
		dir = below
	}

	defer dir.Close()
	for _, name := range []string{"file", "folder"} {
		if err := dir.Symlink(filepath.Join(victim, name), name); err != nil {
			t.Fatal(err)
		}
	}
}

func victimFiles() map[string]string {
	return map[string]string{"file": "file", "folder/inner": "inner", "folder/sub/deep": "deep"}
}

// checkVictim holds that nothing has been made, changed or removed where the links lead.
func checkVictim(t *testing.T, victim string) {
	t.Helper()
	want, got := victimFiles(), map[string]string{}
	want["folder/link"] = "-> inner"
	err := filepath.WalkDir(victim, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		name := strings.TrimPrefix(path, victim+"/")
		switch {
		case d.Type() == fs.ModeSymlink:
			text, err := os.Readlink(path)
			got[name] = "-> " + text
			return err

		case d.IsDir() && name != victim && name != "folder" && name != "folder/sub":
			got[name] = "a folder"
		case !d.IsDir():
			content, err := os.ReadFile(path)
			got[name] = string(content)
			return err
		}

		return nil
	})
	if err != nil {
		t.Error(err)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files out of all drives (-before +after):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(victim, "file")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode of a file out of all drives: %v, %v", info, err)
	}
}
