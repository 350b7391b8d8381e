package prog

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layered is where TestRenamesOfLayers in package winapi mounts folders of layers.
const layered = `C:\layered`

// within returns what is in a folder: the files with their texts, and the folders.
func within(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(filepath.Join(layered, folder), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, filepath.Join(layered, folder))
		if d.IsDir() {
			found[name] = "a folder"
			return nil
		}
		text, err := os.ReadFile(path)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// listed returns the names that a folder has, in the case that is on disk.
func listed(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(layered, folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestRenamesOfLayers renames folders of an image's layers, which Linux does not.
func TestRenamesOfLayers(t *testing.T) {
	if os.Getenv("WINAPI_LAYERED") == "" {
		t.Skip("needs a file system of layers")
	}

	same := func(folder string, want map[string]string) {
		t.Helper()
		got := within(t, folder)
		if len(got) != len(want) || len(got) < 3 {
			t.Errorf("%s has %q, want %q", folder, got, want)
		}
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s%s: %q, want %q", folder, name, got[name], text)
			}
		}
	}

	for _, tc := range []struct {
		name, from, to string
		rename         func(from, to string) error
	}{
		{"beside", "app", "moved", os.Rename},
		{"elsewhere", "deep", `other\deep`, os.Rename},
		{"case_only", "case", "CASE", os.Rename},
		{"by_cmd", "third", "fourth", func(from, _ string) error { return exec.Command("cmd", "/c", "ren "+from+" fourth").Run() }},
		{"again", "moved", "app", os.Rename},
		{"with_odd_names", "odd", "even", os.Rename},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := within(t, tc.from)
			before, err := os.Stat(filepath.Join(layered, tc.from))
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.rename(filepath.Join(layered, tc.from), filepath.Join(layered, tc.to)); err != nil {
				t.Fatal(err)
			}
			same(tc.to, want)

			after, err := os.Stat(filepath.Join(layered, tc.to))
			if err != nil || !after.ModTime().Equal(before.ModTime()) {
				t.Errorf("it was changed %v, now %v; %v", before.ModTime(), after.ModTime(), err)
			}

			if names := listed(t, "."); slices.Contains(names, tc.from) {
				t.Errorf("it is still there: %q", names)
			}
			if names := listed(t, filepath.Dir(tc.to)); !slices.Contains(names, filepath.Base(tc.to)) {
				t.Errorf("it is not there: %q", names)
			}
		})
	}

	// What cannot be moved as a whole stays as it is: busy has a mount point.
	for _, tc := range []struct{ name, from, to string }{
		{"onto_a_folder", "app", "other"}, {"into_itself", "app", `app\sub\app`}, {"busy", "busy", "idle"},
		{"to_a_missing_folder", "app", `none\app`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := within(t, tc.from)
			if err := os.Rename(filepath.Join(layered, tc.from), filepath.Join(layered, tc.to)); err == nil {
				t.Error("it was renamed")
			}
			same(tc.from, want)
			if _, err := os.Stat(filepath.Join(layered, "idle")); err == nil {
				t.Error("something is left at the target")
			}
		})
	}
}
