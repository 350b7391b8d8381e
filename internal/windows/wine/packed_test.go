package wine

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packable returns a Wine that has all that its key is made of, and one program that the prefix has too.
func packable(t *testing.T) (Options, string) {
	t.Helper()
	o, _ := newTestWine(t, 0)
	dir := filepath.Dir(o.Install.Loader)
	o.Install.LibDir, o.Install.DataDir = filepath.Join(dir, "lib"), filepath.Join(dir, "share")
	o.Install.Version = "8.0"
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	program := filepath.Join(o.Install.WindowsDir(), "kernel32.dll")
	write(program, "Wine's own")
	write(filepath.Join(o.Install.UnixDir(), "ntdll.so"), "")
	write(filepath.Join(o.Install.DataDir, "wine.inf"), "")

	loader, err := os.ReadFile(o.Install.Loader)
	if err != nil {
		t.Fatal(err)
	}

	more := `cp ` + program + ` "$WINEPREFIX/drive_c/windows/system32/"
echo made >"$WINEPREFIX/drive_c/windows/win.ini"
mkdir -p "$WINEPREFIX/drive_c/users/root/Temp" "$WINEPREFIX/drive_c/users/Public/Documents"
ln -s /etc "$WINEPREFIX/drive_c/users/root/Desktop"
echo secret >"$WINEPREFIX/drive_c/users/root/Temp/file"
`
	if err := os.WriteFile(o.Install.Loader, append(loader, more...), 0o755); err != nil {
		t.Fatal(err)
	}

	return o, filepath.Join(dir, "starts")
}

// bootFrom boots a layer with the packed prefixes of a folder, and returns it and how often wineboot ran for it.
func bootFrom(t *testing.T, o Options, packed, starts string) (base string, ran int) {
	t.Helper()
	_ = os.Remove(starts)
	tmp := t.TempDir()
	base, o.Packed = filepath.Join(tmp, "base"), []string{filepath.Join(tmp, "none"), packed}
	lacks, err := o.boot(t.Context(), tmp, base)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.linkWine(base, lacks); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(starts)
	return base, strings.Count(string(text), "start")
}

func TestPack(t *testing.T) {
	o, starts := packable(t)
	dir := filepath.Join(t.TempDir(), "packed")
	file, made, err := Pack(t.Context(), o, dir)
	if err != nil || !made {
		t.Fatal(file, made, err)
	}
	if again, made, err := Pack(t.Context(), o, dir); err != nil || made || again != file {
		t.Errorf("packed again: %q, %v, %v", again, made, err)
	}

	// Whoever finds it whole writes nothing there.
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Pack(t.Context(), o, dir); err != nil {
		t.Error(err)
	}

	if _, err := os.Stat(filepath.Join(dir, lockName)); !os.IsNotExist(err) {
		t.Errorf("a folder with a whole prefix is locked: %v", err)
	}

	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, none := range []string{"Wine's own", "secret", "Desktop"} {
		if bytes.Contains(content, []byte(none)) {
			t.Errorf("%q is in the packed prefix", none)
		}
	}

	base, ran := bootFrom(t, o, dir, starts)
	if ran != 0 {
		t.Errorf("wineboot ran %d times", ran)
	}

	for name, want := range map[string]string{
		"Files/windows/system32/kernel32.dll": "Wine's own",
		"Files/windows/win.ini":               "made\n",
		"system.reg":                          "WINE REGISTRY Version 2\n",
	} {
		if got, err := os.ReadFile(filepath.Join(base, name)); string(got) != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}

	// Another Wine has another packed prefix.
	if err := os.WriteFile(filepath.Join(o.Install.UnixDir(), "ntdll.so"), []byte("newer"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ran := bootFrom(t, o, dir, starts); ran != 1 {
		t.Errorf("with another Wine wineboot ran %d times", ran)
	}

	if removed, err := RemovePacked(dir); err != nil || len(removed) != 1 || removed[0] != file {
		t.Errorf("removed %q, %v", removed, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if removed, err := RemovePacked(dir); err != nil || removed != nil {
		t.Errorf("removed %q once more, %v", removed, err)
	}
}

// A packed prefix that is damaged, or made with programs that Wine has no more, is as if it were not there.
func TestDamagedPackedPrefix(t *testing.T) {
	o, starts := packable(t)
	dir := t.TempDir()
	file, _, err := Pack(t.Context(), o, dir)
	if err != nil {
		t.Fatal(err)
	}

	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	outside := filepath.Join(t.TempDir(), "outside")
	for name, content := range map[string][]byte{
		"empty":        {},
		"cut":          whole[:len(whole)/2],
		"cut to parts": whole[:len(whole)/2/512*512],
		"no tar":       []byte("#!/bin/sh\n" + strings.Repeat("x", 2000)),
		"leads out": packedOf(t, `{"Files":1}`, tar.Header{
			Name: "../../outside",
			Size: 1,
			Mode: 0o644,
		}),
		"absolute": packedOf(t, `{"Files":1}`, tar.Header{
			Name: outside,
			Size: 1,
			Mode: 0o644,
		}),
		"original leads out": packedOf(t, `{"Originals":{"../../outside":{"Path":"/etc/hostname"}}}`),
		"no list":            packedOf(t, `[`),
	} {
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
		again, made, err := Pack(t.Context(), o, dir)
		if err != nil || again != file || (!made && !strings.Contains(name, "lead") && name != "absolute") {
			t.Errorf("%s: packed again: %v, %v", name, made, err)
		}

		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
		base, ran := bootFrom(t, o, dir, starts)
		if ran != 1 {
			t.Errorf("%s: wineboot ran %d times", name, ran)
		}

		if _, err := os.Stat(filepath.Join(base, "Files/windows/win.ini")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(base), "outside")); err == nil {
			t.Errorf("%s: a file was written outside of the prefix", name)
		}
	}

	if _, err := os.Lstat(outside); err == nil {
		t.Error("a file was written where an absolute name says")
	}

	if err := os.WriteFile(file, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	upgraded := filepath.Join(o.Install.WindowsDir(), "kernel32.dll")
	if err := os.WriteFile(upgraded, []byte("upgraded"), 0o644); err != nil {
		t.Fatal(err)
	}

	if _, made, err := Pack(t.Context(), o, dir); err != nil || !made { // it does not fit any more
		t.Errorf("made again: %v, %v", made, err)
	}
	if err := os.WriteFile(file, whole, 0o644); err != nil {
		t.Fatal(err)
	}

	base, ran := bootFrom(t, o, dir, starts)
	if got, _ := os.ReadFile(filepath.Join(base, "Files/windows/system32/kernel32.dll")); ran != 1 || string(got) != "upgraded" {
		t.Errorf("with another kernel32.dll wineboot ran %d times, and the layer has %q", ran, got)
	}
}

// packedOf returns a packed prefix with a list and files of one byte.
func packedOf(t *testing.T, list string, files ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(h tar.Header, content string) {
		t.Helper()
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}

	add(tar.Header{
		Name: packedIndex,
		Size: int64(len(list)),
		Mode: 0o644,
	}, list)
	for _, h := range files {
		add(h, "x")
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// While Mullion's programs are put into a layer, no file of it is one of the installed Wine's: what is written then,
// carelessly too, changes the layer alone. At the end the layer has Wine's own files, but where a program of Mullion's
// took the place of one.
func TestInstalledWineStays(t *testing.T) {
	o, _ := packable(t)
	packed := t.TempDir()
	if _, _, err := Pack(t.Context(), o, packed); err != nil {
		t.Fatal(err)
	}
	wines := filepath.Join(o.Install.WindowsDir(), "kernel32.dll")

	for name, from := range map[string][]string{"packed": {packed}, "booted": nil} {
		tmp := t.TempDir()
		base := filepath.Join(tmp, "base")
		o.Packed = from
		lacks, err := o.boot(t.Context(), tmp, base)
		if err != nil {
			t.Fatal(err)
		}

		system32 := filepath.Join(base, "Files/windows/system32")
		if err := os.WriteFile(filepath.Join(system32, "kernel32.dll"), []byte("Mullion's"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(wines); string(got) != "Wine's own" {
			t.Fatalf("%s: Wine's file is %q, %v", name, got, err)
		}

		if err := o.linkWine(base, lacks); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(system32, "kernel32.dll")); string(got) != "Mullion's" {
			t.Errorf("%s: the layer's file is %q, %v", name, got, err)
		}
	}
}
