package parts

import (
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/controlplane/localstorage"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/node/winnode"
)

// A machine removes only volumes of its own nodes, whatever it is told to remove.
func TestFarVolumes(t *testing.T) {
	place := localstorage.Place{
		Root:   filepath.Join(t.TempDir(), "Files"),
		Folder: winnode.VolumesFolder,
		Path:   winnode.VolumesPath,
	}

	folder := filepath.Join(place.Root, place.Folder)
	const name = "pvc-0b7f6b52-6f0e-4a7c-9d1a-2f6a1f0c9e11"
	if err := os.MkdirAll(filepath.Join(folder, "others"), 0o700); err != nil {
		t.Fatal(err)
	}
	v := &FarVolumes{Place: func(node string) (localstorage.Place, bool) { return place, node == "m1-win-1" }}
	if err := v.do("m1-win-1", name, machines.Make); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		node, volume string
		task         machines.Task
	}{
		{"m1-win-1", "others", machines.Remove},
		{"m1-win-1", "..", machines.Remove},
		{"m1-win-1", "pvc-", machines.Remove},
		{"m1-win-1", "pvc-../" + name, machines.Remove},
		{"m2-win-1", name, machines.Remove},
		{"m1-win-1", name, "format"},
	} {
		if err := v.do(c.node, c.volume, c.task); err == nil {
			t.Errorf("%+v is done", c)
		}
	}

	for _, left := range []string{"others", name} {
		if _, err := os.Stat(filepath.Join(folder, left)); err != nil {
			t.Error(err)
		}
	}

	if err := v.do("m1-win-1", name, machines.Remove); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(folder, name)); !os.IsNotExist(err) {
		t.Errorf("the removed volume: %v", err)
	}
}
