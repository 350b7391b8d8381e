package single

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
)

// TestVolumeNames takes Docker's names, in small letters, and refuses what leads elsewhere or is a device of Windows.
func TestVolumeNames(t *testing.T) {
	for name, want := range map[string]string{
		"data": "data", "Data.1_x-y": "data.1_x-y", "a..": "a..", "00": "00", strings.Repeat("a", 255): strings.Repeat("a", 255),
		"console": "console", "com10": "com10", "lpt": "lpt",
	} {
		if got, err := VolumeName(name); got != want || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}

	for name, why := range map[string]string{
		"": "includes invalid characters", "a": "is too short", "..": "includes invalid characters", ".a": "includes invalid",
		"../x": "includes invalid", `a\b`: "includes invalid", `C:\x`: "includes invalid", "a/b": "includes invalid",
		"a:b": "includes invalid", "a b": "includes invalid", "ä1": "includes invalid", "a\x00": "includes invalid",
		"a\n": "includes invalid", "-ab": "includes invalid", strings.Repeat("a", 256): "is too long",
		"CON": "cannot be a reserved word", "nul": "cannot be a reserved word", "com1": "cannot be a reserved word",
		"aux.txt": "cannot be a reserved word", "lpt9.": "cannot be a reserved word", "prn": "cannot be a reserved word",
	} {
		if got, err := VolumeName(name); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

// openedVolumes returns the volumes of a folder, of which what was left is gone.
func openedVolumes(t *testing.T, p Paths) *volumes {
	t.Helper()
	v, left, err := openVolumes(p)
	if err := errors.Join(err, left()); err != nil {
		t.Fatal(err)
	}
	return v
}

// inFolder returns the names in a folder.
func inFolder(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestVolumeAtOnce: of many who name a volume first all have the same one, and one of them fills it.
func TestVolumeAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	p := At(t.TempDir(), "")
	v := openedVolumes(t, p)
	var all sync.WaitGroup
	filled := 0
	for range 20 {
		all.Go(func() {
			if _, err := v.make("data", map[string]string{"a": "b"}); err != nil {
				t.Error(err)
			}
			defer v.lock("data")()
			err := v.fill("data", func(data *os.Root) error {
				filled++
				return data.WriteFile("x", nil, 0o600)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()

	if got := inFolder(t, p.volumes()); got != "data" || filled != 1 {
		t.Errorf("%s, filled %d times", got, filled)
	}
	list, err := v.list()
	if err != nil || len(list) != 1 || list[0].Labels["a"] != "b" || list[0].Filling || list[0].Created.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := v.make("data", map[string]string{"a": "c"}); err != nil {
		t.Error(err)
	}
	if again, _ := v.get("data"); again.Labels["a"] != "b" {
		t.Errorf("it was made anew: %+v", again)
	}
}

// TestVolumeKilled: an engine that was killed leaves no volume by half. What was being made or removed is gone, what
// was being filled is empty, and is filled again; what is whole stays, also if its record is damaged.
func TestVolumeKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	p := At(t.TempDir(), "")
	v := openedVolumes(t, p)
	for _, name := range []string{"whole", "damaged", "half"} {
		if _, err := v.make(name, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(v.data(name), "file"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	half, err := v.get("half")
	half.Filling = true
	deep := filepath.Join(p.volumes(), volumeGone+"1", "old", volumeData, "a", "b")
	err = errors.Join(err, v.note(half),
		os.WriteFile(filepath.Join(p.volumes(), "damaged", volumeRecord), []byte("{"), 0o600),
		os.MkdirAll(deep, 0o700), os.Symlink("/etc", filepath.Join(deep, "link")),
		os.MkdirAll(filepath.Join(p.volumes(), volumeNew+"2", volumeData), 0o700),
		os.Mkdir(filepath.Join(p.volumes(), "foreign"), 0o700))
	if err != nil {
		t.Fatal(err)
	}

	v = openedVolumes(t, p)
	if got := inFolder(t, p.volumes()); got != "damaged foreign half whole" {
		t.Error(got)
	}
	list, err := v.list()
	if err != nil || len(list) != 3 || list[0].Name != "damaged" || list[1].Filling {
		t.Errorf("%+v, %v", list, err)
	}
	for name, want := range map[string]string{"whole": "file", "damaged": "file", "half": ""} {
		if got := inFolder(t, v.data(name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}

	// One that cannot be emptied holds up neither the next engine nor the others.
	if _, err := v.make("broken", nil); err != nil {
		t.Fatal(err)
	}
	broken, err := v.get("broken")
	broken.Filling = true
	if err := errors.Join(err, v.note(broken), os.Remove(v.data("broken"))); err != nil {
		t.Fatal(err)
	}
	v, left, err := openVolumes(p)
	if err != nil || left() == nil {
		t.Errorf("the next engine: %v", err)
	}
	if err := v.fill("broken", nil); err == nil {
		t.Error("it is taken for whole")
	}

	filled := false
	if err := v.fill("half", func(*os.Root) error { filled = true; return nil }); err != nil || !filled {
		t.Errorf("filled again %t, %v", filled, err)
	}
	wrong := errors.New("disk full")
	err = v.fill("half", func(data *os.Root) error { return errors.Join(wrong, data.WriteFile("part", nil, 0o600)) })
	if !errors.Is(err, wrong) || inFolder(t, v.data("half")) != "" {
		t.Errorf("%v, and %s is left", err, inFolder(t, v.data("half")))
	}
}

// TestVolumeFillNotNoted: a volume whose record could not say that it is full, as on a full disk, is emptied before its
// next container has it, and not when that has written to it.
func TestVolumeFillNotNoted(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	p := At(t.TempDir(), "")
	v := openedVolumes(t, p)
	if _, err := v.make("data", nil); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(p.volumes(), "data", volumeRecord)
	aside := filepath.Join(t.TempDir(), volumeRecord)
	err := v.fill("data", func(data *os.Root) error {
		// A folder in its place, which no file replaces.
		return errors.Join(data.WriteFile("old", nil, 0o600), os.Rename(record, aside), os.Mkdir(record, 0o700))
	})
	if err == nil {
		t.Fatal("it is said to be full")
	}
	if err := errors.Join(os.Remove(record), os.Rename(aside, record)); err != nil {
		t.Fatal(err)
	}

	fill := func(data *os.Root) error { return data.WriteFile("new", nil, 0o600) }
	if err := v.fill("data", fill); err != nil || inFolder(t, v.data("data")) != "new" {
		t.Errorf("%v, in it: %s", err, inFolder(t, v.data("data")))
	}
	if err := os.WriteFile(filepath.Join(v.data("data"), "written"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if openedVolumes(t, p); inFolder(t, v.data("data")) != "new written" {
		t.Errorf("after the next start: %s", inFolder(t, v.data("data")))
	}
}

// TestVolumeReadyElsewhere: a volume of which a container's image has nothing, and which that has not written to, is
// not filled for another one: what both put there could be the same file, and all would go.
func TestVolumeReadyElsewhere(t *testing.T) {
	testrun.Once(t, testrun.Race)
	r := opened(t, At(t.TempDir(), ""))
	data := Mount{Volume: "data", Target: `C:\data`}
	first := withVolumes(t, r, "1", false, data)
	second := withVolumes(t, r, "2", false, data)
	none := func(*os.Root) error { return nil }
	if err := r.readyVolume(first, "data", none); err != nil {
		t.Fatal(err)
	}

	// It is about to run, and writes while the other one's would be filled.
	written := filepath.Join(r.volumes.data("data"), "config")
	fill := func(to *os.Root) error {
		f, err := to.OpenFile("config", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return errors.Join(err, f.Close())
	}
	err := r.readyVolume(second, "data", func(to *os.Root) error {
		return errors.Join(os.WriteFile(written, []byte("1"), 0o600), fill(to))
	})
	if err != nil {
		t.Errorf("the other one: %v", err)
	}
	if err := os.WriteFile(written, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}

	// With none that lives it is filled, if it is empty.
	if err := errors.Join(r.over(first, End{}, ""), r.over(second, End{}, ""), os.Remove(written)); err != nil {
		t.Fatal(err)
	}
	third := withVolumes(t, r, "3", false, data)
	if err := r.readyVolume(third, "data", fill); err != nil || inFolder(t, r.volumes.data("data")) != "config" {
		t.Errorf("%v, in it: %s", err, inFolder(t, r.volumes.data("data")))
	}

	// A fill that fails has it ready for nobody.
	wrong := errors.New("disk full")
	if err := os.Remove(written); err != nil {
		t.Fatal(err)
	}
	if err := r.readyVolume(third, "other", nil); err == nil {
		t.Error("a volume that is not there is ready")
	}
	if _, err := r.volumes.make("other", nil); err != nil {
		t.Fatal(err)
	}
	if err := r.readyVolume(third, "other", func(*os.Root) error { return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	if r.readyElsewhere("other", "4") || !r.readyElsewhere("data", "4") || r.readyElsewhere("data", "3") {
		t.Error("whose volumes are ready")
	}
}

// unnamed returns the mount of a volume that nobody has named.
func unnamed(volume string) Mount {
	return Mount{
		Volume:    volume,
		Target:    `C:\` + volume,
		Anonymous: true,
	}
}

// withVolumes returns a container that has begun, with its volumes.
func withVolumes(t *testing.T, r *register, id string, keep bool, mounts ...Mount) *container {
	t.Helper()
	k := begun(t, r, id, Run{Keep: keep, Mounts: mounts})
	for _, m := range mounts {
		labels := map[string]string{}
		if m.Anonymous {
			labels[AnonymousLabel] = ""
		}
		if _, err := r.volumes.make(m.Volume, labels); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// TestVolumeUsers: a volume that a container has is not removed, running or not; those without a name go with --rm, and
// those with one stay.
func TestVolumeUsers(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	p := At(t.TempDir(), "")
	r := opened(t, p)
	data := Mount{Volume: "data", Target: `C:\data`}
	own, shared := unnamed("own"), unnamed("shared")
	gone := withVolumes(t, r, "2", false, data, own, shared)
	kept := withVolumes(t, r, "1", true, data, Mount{Volume: "shared", Target: `C:\x`})

	refused := func(what string, ids string) {
		t.Helper()
		err := r.removeVolume("data")
		if err == nil || err.Error() != "remove data: volume is in use - ["+ids+"]" {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("both run", "1, 2")
	if err := r.over(gone, End{}, ""); err != nil {
		t.Fatal(err)
	}
	if got := inFolder(t, p.volumes()); got != "data shared" {
		t.Errorf("after --rm: %s", got)
	}

	if err := r.over(kept, End{}, ""); err != nil {
		t.Fatal(err)
	}
	refused("one has ended", "1")
	if got, _, err := r.pruneVolumes(t.Context(), VolumePruned{All: true}); len(got) != 0 || err != nil {
		t.Errorf("pruned %v, %v", got, err)
	}

	if err := r.forget("1"); err != nil {
		t.Fatal(err)
	}
	pruned, _, err := r.pruneVolumes(t.Context(), VolumePruned{})
	if err != nil || len(pruned) != 1 || pruned[0].Name != "shared" {
		t.Errorf("pruned %v, %v", pruned, err)
	}
	if err := r.removeVolume("data"); err != nil {
		t.Error(err)
	}
	if got := inFolder(t, p.volumes()); got != "" {
		t.Error(got)
	}
	if err := r.removeVolume("data"); err == nil || err.Error() != "get data: no such volume" {
		t.Error(err)
	}
}

// TestVolumeOfKilled: with the containers that --rm forgets, or that had not begun, their volumes without a name go
// when the next engine begins.
func TestVolumeOfKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	p := At(t.TempDir(), "")
	r := opened(t, p)
	withVolumes(t, r, "1", false, unnamed("rm"), Mount{Volume: "named", Target: `C:\b`})
	withVolumes(t, r, "2", true, unnamed("kept"))
	made := &container{
		room: aRoom(),
		id:   "3",
		ask:  Run{Keep: true, Mounts: []Mount{{Volume: "unmade", Anonymous: true}}},
	}
	if err := r.add(made); err != nil {
		t.Fatal(err)
	}

	// Before the engine listens they are moved alone: how large they are delays nobody.
	full := filepath.Join(p.volumes(), "rm", volumeData, "large")
	if err := os.WriteFile(full, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r = opened(t, p)
	got := inFolder(t, p.volumes())
	away := filepath.Join(p.volumes(), volumeGone+"*", "rm", volumeData, "large")
	if moved, _ := filepath.Glob(away); len(moved) != 1 || !strings.HasSuffix(got, " kept named") {
		t.Errorf("before the engine serves there is %q, %v", got, moved)
	}

	if err := r.clearVolumes(); err != nil {
		t.Fatal(err)
	}
	if got := inFolder(t, p.volumes()); got != "kept named" {
		t.Error(got)
	}
}

// TestVolumeRunAndRemove: a container that is run while its volume is removed has the volume, or a new one, and never
// one that is gone.
func TestVolumeRunAndRemove(t *testing.T) {
	testrun.Once(t, testrun.Race)
	r := opened(t, At(t.TempDir(), ""))
	for i := range 50 {
		if _, err := r.volumes.make("data", nil); err != nil {
			t.Fatal(err)
		}
		k := &container{
			room: aRoom(),
			id:   fmt.Sprint(i),
			ask:  Run{Mounts: []Mount{{Volume: "data"}}},
		}

		var both sync.WaitGroup
		both.Go(func() {
			if err := r.removeVolume("data"); err != nil && !strings.Contains(err.Error(), "volume is in use") {
				t.Error(err)
			}
		})
		both.Go(func() {
			_, err := r.volumes.make("data", nil)
			if err := errors.Join(r.add(k), err); err != nil {
				t.Error(err)
				return
			}
			if _, err := r.volumes.make("data", nil); err != nil { // as readyVolumes does, once it is known
				t.Error(err)
			}
		})

		both.Wait()
		if _, err := r.volumes.get("data"); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		if err := r.over(k, End{}, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRemoveKeepsVolumes: what single containers have on the machine goes, but volumes with a name. One whose record
// cannot be read, here since it is a folder, may have one.
func TestRemoveKeepsVolumes(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	p := At(t.TempDir(), "")
	v := openedVolumes(t, p)
	_, err := v.make("data", nil)
	_, err2 := v.make("0a", map[string]string{AnonymousLabel: ""})
	err = errors.Join(err, err2, os.WriteFile(filepath.Join(p.Data, versionFile), nil, 0o600),
		os.MkdirAll(filepath.Join(p.Data, "containerd", "x"), 0o700), os.Mkdir(filepath.Join(p.volumes(), volumeGone+"1"), 0o700),
		os.MkdirAll(filepath.Join(p.volumes(), "unread", volumeRecord), 0o700), os.Mkdir(filepath.Join(p.volumes(), "none"), 0o700))
	if err != nil {
		t.Fatal(err)
	}

	kept, err := p.clearVolumes(false)
	if err := errors.Join(err, p.clearData(len(kept) > 0)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"data", "unread"}, kept); diff != "" || inFolder(t, p.Data) != versionFile+" volumes" {
		t.Errorf("%s, in the folder: %s", diff, inFolder(t, p.Data))
	}

	kept, err = p.clearVolumes(true)
	if err := errors.Join(err, p.clearData(len(kept) > 0)); err != nil || len(kept) > 0 {
		t.Errorf("%v, %v", kept, err)
	}
	if _, err := os.Stat(p.Data); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
}

// TestVolumesAsked answers a client, whatever it names.
func TestVolumesAsked(t *testing.T) {
	s := &service{register: opened(t, At(t.TempDir(), ""))}
	asked := func(ask VolumeAsk) (Event, error) {
		var e Event
		err := s.volumesAsked(t.Context(), ask, &e)
		return e, err
	}

	made, err := asked(VolumeAsk{Make: &NewVolume{Name: "Data", Labels: map[string]string{"team": "web"}}})
	if err != nil || made.Volumes[0].Name != "data" {
		t.Fatalf("%+v, %v", made, err)
	}
	if made, err = asked(VolumeAsk{Make: &NewVolume{}}); err != nil || !made.Volumes[0].Anonymous() {
		t.Errorf("%+v, %v", made, err)
	}
	for _, name := range []string{"../data", "..", ".", "nul", "absent", `..\data`, "/etc"} {
		_, err := asked(VolumeAsk{Remove: name})
		if err == nil || err.Error() != "get "+name+": no such volume" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := asked(VolumeAsk{Remove: name, Force: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	for _, name := range []string{"../x", "nul", "a"} {
		if _, err := asked(VolumeAsk{Make: &NewVolume{Name: name}}); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	others := &VolumePruned{All: true, Labels: []string{"team=db"}}
	if e, err := asked(VolumeAsk{Prune: others}); err != nil || len(e.Volumes) > 0 {
		t.Errorf("%+v, %v", e, err)
	}
	kept := &VolumePruned{All: true, NotLabels: []string{"team=web", AnonymousLabel}}
	if e, err := asked(VolumeAsk{PruneBut: kept}); err != nil || len(e.Volumes) > 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if !(VolumePruned{All: true, NotLabels: []string{"team=db"}}).fits(made.Volumes[0]) {
		t.Error("a volume without a label is kept by it")
	}
	if _, err := asked(VolumeAsk{}); err == nil {
		t.Error("nothing was asked")
	}
	if _, err := asked(VolumeAsk{Remove: "DATA"}); err != nil {
		t.Error(err)
	}
	if e, err := asked(VolumeAsk{List: true}); err != nil || len(e.Volumes) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}
