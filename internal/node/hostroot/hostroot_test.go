package hostroot

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// opened returns a root in which its programs have put links in the place of folders, and a folder outside of it to
// which they lead.
func opened(t *testing.T) (r *Root, dir, outside string) {
	t.Helper()
	dir, outside = t.TempDir(), t.TempDir()
	for name, to := range map[string]string{"etc": outside, "var": "../../" + filepath.Base(outside), "run": "nothing"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, dir, outside
}

// empty fails if something was made in the folder outside, or its mode was changed.
func empty(t *testing.T, outside string) {
	t.Helper()
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) > 0 {
		t.Errorf("outside of the root there is %v, %v", entries, err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() == 0o700 {
		t.Errorf("the folder outside of the root is %v, %v", info.Mode(), err)
	}
}

// A folder has the mode asked for, whatever was in its place. A link that leads out is replaced, not followed.
func TestFolder(t *testing.T) {
	r, dir, outside := opened(t)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"new/deep", "file", "etc", "var", "run"} {
		for range 2 {
			if err := r.Folder(name, 0o700); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}

		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || info.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%s is %v, %v", name, info.Mode(), err)
		}
	}

	empty(t, outside)
}

// Nothing is made through a link that leads out: neither a folder, nor a link, nor what is bound over.
func TestNothingOutside(t *testing.T) {
	r, _, outside := opened(t)
	source := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(source, nil, 0o644); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"etc/x", "var/x", "../" + filepath.Base(outside) + "/x"} {
		if err := r.Folder(name, 0o700); err == nil {
			t.Errorf("folder %s was made", name)
		}
		if err := r.Link("/", name); err == nil {
			t.Errorf("link %s was made", name)
		}

		for _, from := range []string{source, filepath.Dir(source)} {
			if f, err := r.cover(from, name); err == nil {
				t.Errorf("%s was made for %s", f.Name(), from)
			}
		}
	}

	empty(t, outside)
}

// A link that is there stays.
func TestLink(t *testing.T) {
	r, dir, _ := opened(t)
	for _, to := range []string{"one", "two"} {
		if err := r.Link(to, "a/b"); err != nil {
			t.Fatal(err)
		}
	}
	if to, err := os.Readlink(filepath.Join(dir, "a/b")); to != "one" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// What is bound over is a folder if the source is one, and a file if not; what is of another kind goes, and what is of
// the same kind stays.
func TestCover(t *testing.T) {
	r, dir, outside := opened(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("the machine's"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(file)

	for _, step := range []struct {
		source, name string
		folder       bool
	}{
		{file, "/opt/x", false},
		{folder, "opt/x", true},
		{file, "opt/x", false},
		{file, "etc", false},
		{folder, "var", true},
		{folder, "run", true},
	} {
		f, err := r.cover(step.source, step.name)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		_ = f.Close()
		info, err := os.Lstat(filepath.Join(dir, step.name))
		if err != nil || info.IsDir() != step.folder || info.Mode()&fs.ModeSymlink != 0 {
			t.Errorf("%s is %v, %v", step.name, info.Mode(), err)
		}
	}

	kept := filepath.Join(dir, "var/kept")
	if err := os.WriteFile(kept, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err := r.cover(folder, "var"); err != nil {
		t.Error(err)
	} else {
		_ = f.Close()
	}

	if _, err := os.Stat(kept); err != nil {
		t.Errorf("what was in a folder is gone: %v", err)
	}
	if _, err := r.cover(filepath.Join(folder, "none"), "opt/none"); err == nil {
		t.Error("what is not there was covered")
	}
	empty(t, outside)
}
