package engine

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/windows/regf"
	"mullion.dev/mullion/internal/windows/wine"
)

// TestScratchRegistry: what a container has changed is what it has not from its image, also of the user's settings that
// the image has in a profile. What the container's programs put in the place of the registry leads nowhere.
func TestScratchRegistry(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	value := func(key, name string) string {
		values := []regf.Value{{Name: name, Type: 1, Data: regf.UTF16("1")}}
		return string(regf.Build(regf.Key{Path: key, Values: values}))
	}
	const empty = "WINE REGISTRY Version 2\n;; All keys\n\n#arch=win64\n"
	for _, name := range []string{wine.MachineHive, wine.DefaultHive, wine.UserHive} {
		write("system/"+name, empty)
	}

	write("layer/Hives/Software_Delta", value("Image", "a"))
	write("layer/Files/Users/ContainerUser/NTUSER.DAT", value("Environment", "image"))
	write("scratch/fs/none", "")
	layer, err := os.Open(filepath.Join(dir, "layer"))
	if err != nil {
		t.Fatal(err)
	}
	defer layer.Close()
	e := &Engine{opts: Options{SystemLayers: []string{filepath.Join(dir, "system")}}}
	read := func() (wine.RegistryChanges, error) {
		return e.ScratchRegistry(filepath.Join(dir, "scratch"), []*os.File{layer}, UserName(1000))
	}

	c, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.Before[wine.MachineHive], `Software\\Image`) || !strings.Contains(c.Before[wine.UserHive], "image") {
		t.Errorf("the container began with %q", c.Before)
	}

	hives, err := c.Hives()
	if name, hive, userErr := c.UserSettings(); len(hives) > 0 || err != nil || hive != nil || userErr != nil {
		t.Errorf("a container that has not begun has changed %v, %v, %q, %v", slices.Collect(maps.Keys(hives)), err, name, userErr)
	}

	write("scratch/fs/"+wine.MachineHive, c.Before[wine.MachineHive]+"\n[Software\\\\Own] 1\n\"b\"=\"1\"\n")
	write("scratch/fs/"+wine.UserHive, c.Before[wine.UserHive]+"\n[Own] 1\n\"c\"=\"1\"\n")
	if c, err = read(); err != nil {
		t.Fatal(err)
	}
	hives, err = c.Hives()
	if names := slices.Sorted(maps.Keys(hives)); err != nil || !slices.Equal(names, []string{"Software_Delta"}) {
		t.Errorf("changed are the hives %q, %v", names, err)
	}

	room := wine.MaxChanges
	keys, err := wine.LayerHives()[1].Changes(hives["Software_Delta"], &room)
	if err != nil || len(keys) != 1 || !strings.HasSuffix(keys[0].Path, "Own") {
		t.Errorf("the layer has the keys %+v, %v", keys, err)
	}

	// The user's file hides that of the image, and has what is the image's, too.
	name, hive, err := c.UserSettings()
	if err != nil || name != "users/ContainerUser/NTUSER.DAT" {
		t.Errorf("the user's settings are %q, %v", name, err)
	}
	if keys, err = wine.UserChanges(hive, wine.User, &room); err != nil || len(keys) != 2 {
		t.Errorf("the user's settings are %+v, %v", keys, err)
	}

	if err := os.Remove(filepath.Join(dir, "scratch/fs", wine.UserHive)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "system", wine.UserHive), filepath.Join(dir, "scratch/fs", wine.UserHive)); err != nil {
		t.Fatal(err)
	}
	if _, err := read(); err == nil {
		t.Error("a link in the place of the registry is followed")
	}
}
