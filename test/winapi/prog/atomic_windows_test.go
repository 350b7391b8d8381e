package prog

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// publish writes a new generation of a volume as the kubelet does on Windows (k8s.io/kubernetes v1.36.3
// pkg/volume/util/atomic_writer.go): a new folder, a new link beside the old one, on Windows the old link removed and
// made again; then links for the names users see.
func publish(t *testing.T, volume string, generation int, files map[string]string) {
	t.Helper()
	data := fmt.Sprintf("..2026_01_01_%d", generation)
	for name, content := range files {
		path := filepath.Join(volume, data, name)
		mkdir(t, filepath.Dir(path))
		write(t, path, content)
	}

	old, err := os.Readlink(filepath.Join(volume, "..data"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	symlink(t, data, filepath.Join(volume, "..data_tmp"))
	if err := os.Remove(filepath.Join(volume, "..data")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}

	symlink(t, data, filepath.Join(volume, "..data"))
	if err := os.Remove(filepath.Join(volume, "..data_tmp")); err != nil {
		t.Fatal(err)
	}

	for name := range files {
		first := filepath.Join(volume, name)
		if _, err := os.Readlink(first); err == nil {
			continue
		}
		symlink(t, filepath.Join("..data", name), first)
	}

	if old != "" {
		if err := os.RemoveAll(filepath.Join(volume, old)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAtomicWriter(t *testing.T) {
	volume := filepath.Join(t.TempDir(), "volume")
	mkdir(t, volume)
	for generation := range 5 {
		want := fmt.Sprintf("value %d", generation)
		publish(t, volume, generation, map[string]string{"key": want, "other.txt": "fixed"})
		wantContent(t, filepath.Join(volume, "key"), want)
		wantContent(t, filepath.Join(volume, "other.txt"), "fixed")
		wantTarget(t, filepath.Join(volume, "..data"), fmt.Sprintf("..2026_01_01_%d", generation))
		wantTarget(t, filepath.Join(volume, "key"), `..data\key`)
	}

	entries, err := os.ReadDir(volume)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 4 {
		t.Errorf("entries: got %v, want the data folder, ..data and two names", entries)
	}

	if err := os.RemoveAll(volume); err != nil {
		t.Fatal(err)
	}
	wantGone(t, volume)
}

func TestAtomicWriterByRename(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "one"))
	mkdir(t, filepath.Join(dir, "two"))
	symlink(t, "one", filepath.Join(dir, "..data"))
	symlink(t, "two", filepath.Join(dir, "..data_tmp"))
	// MoveFileEx does not replace what is a folder to Windows: that is why the kubelet removes first.
	if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err == nil {
		t.Error("a rename replaced a link to a folder")
	}
	wantTarget(t, filepath.Join(dir, "..data"), "one")
	wantTarget(t, filepath.Join(dir, "..data_tmp"), "two")
}

// TestLeavesLinks leaves links for the Linux side of the test to look at.
func TestLeavesLinks(t *testing.T) {
	const left = `C:\left`
	mkdir(t, filepath.Join(left, "folder"))
	write(t, filepath.Join(left, "folder", "file"), "hello")
	symlink(t, `folder\file`, filepath.Join(left, "relative"))
	symlink(t, filepath.Join(left, "folder", "file"), filepath.Join(left, "absolute"))
	publish(t, left, 1, map[string]string{"key": "hello"})
}
