package gotest

import (
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/single"
)

// TestLinksInThePlaceOfFolders: containers write to the module, and have put links in the place of its folders. What
// the program has written is not put where they lead, and it gets nothing from there.
func TestLinksInThePlaceOfFolders(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	p := newPlace(t)
	victim := t.TempDir()
	p.write(filepath.Join(victim, "secret"), "secret")
	module, alias := filepath.Join(p.home, "mod"), filepath.Join(p.home, "alias")
	p.write(filepath.Join(module, "go.mod"), "module m")
	for _, link := range []struct{ name, to string }{
		{alias, "mod"}, {filepath.Join(module, "pkg"), victim}, {filepath.Join(module, "up"), "../.."},
	} {
		if err := os.Symlink(link.to, link.name); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Chown(module, 1000, 1001); err != nil {
		t.Fatal(err)
	}

	for _, dir := range []string{module, alias} {
		program := Program{
			Path: "/tmp/b001/m.test",
			Dir:  dir,
			Args: []string{"-test.cpuprofile=pkg/cpu", "-test.trace=up/trace"},
		}
		c, err := program.place(&single.Run{})
		if err != nil {
			t.Fatal(err)
		}

		c.scratch = t.TempDir()
		c.outputs = append(c.outputs, output{filepath.Join(module, "pkg"), "outputdir", folder},
			output{filepath.Join(module, "pkg", "new"), "fuzzcachedir", folder})
		if err := c.begin(); err == nil {
			t.Error("what a link leads to is given to the program")
		}

		p.write(filepath.Join(c.scratch, "cpuprofile"), "hostile")
		p.write(filepath.Join(c.scratch, "trace"), "hostile")
		p.write(filepath.Join(c.scratch, "outputdir", "job"), "hostile")
		if err := c.Finish(); err == nil {
			t.Error("it is put where links lead")
		}
		if got, err := os.ReadDir(victim); err != nil || len(got) != 1 {
			t.Errorf("where the link leads there are %v, %v", got, err)
		}

		if _, err := os.Lstat(filepath.Join(filepath.Dir(p.home), "trace")); err == nil {
			t.Error("a file is put beside the module")
		}
	}

	// Folders of the module itself are made, as its owner's.
	c := &Call{scratch: t.TempDir(), written: []string{module}, outputs: []output{
		{filepath.Join(module, "new", "out"), "outputdir", folder}, {filepath.Join(module, "cover"), "coverprofile", file},
	}}
	if err := c.begin(); err != nil {
		t.Fatal(err)
	}

	p.write(filepath.Join(c.scratch, "outputdir", "a", "b"), "artifact")
	p.write(filepath.Join(c.scratch, "coverprofile"), "mode: set")
	if err := c.Finish(); err != nil {
		t.Fatal(err)
	}
	p.has(filepath.Join(module, "new", "out", "a", "b"), "artifact")
	p.has(filepath.Join(module, "cover"), "mode: set")
	p.owned(filepath.Join(module, "new", "out"), 1000, 1001)
}
