package gotest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/single"
)

// module makes a module whose folder belongs to somebody, as far as this process may give it away.
func module(t *testing.T, uid int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "mod")
	if err := os.MkdirAll(filepath.Join(dir, "pkg"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/mod\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	if os.Geteuid() == 0 {
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

// TestPlace is what a container gets of a package's test program.
func TestPlace(t *testing.T) {
	dir := module(t, 1000)
	work := filepath.Join(t.TempDir(), "b001")
	p := Program{
		Path: filepath.Join(work, "pkg.test.exe"),
		Dir:  filepath.Join(dir, "pkg"),
		Args: []string{
			"-test.paniconexit0", "-test.coverprofile=" + work + "/_cover_.out", "-test.gocoverdir=" + work + "/gocoverdir",
			"--test.cpuprofile", "cpu.out", "-test.outputdir", "..", "-test.v=true", "-update", "--", "-test.trace=x",
		},
		Environ: []string{"Path=/bin", "HOME=/root", "CI=true", "lc_all=C", "GOCOVERDIR=" + work + "/gocoverdir", "broken", "A=b=c"},
	}

	ask := single.Run{
		Env:    []string{"OWN=1"},
		Mounts: []single.Mount{{Source: "/x", Target: `D:\x`}},
		Keep:   true,
	}
	c, err := p.place(&ask)
	if err != nil {
		t.Fatal(err)
	}

	in := func(path string) string {
		place, err := onWindows(path)
		if err != nil {
			t.Fatal(err)
		}
		return place
	}

	want := single.Run{
		Entrypoint: []string{in(p.Path)},
		Args: []string{
			"-test.paniconexit0", `-test.coverprofile=C:\go-test\coverprofile`, `-test.gocoverdir=C:\go-test\gocoverdir`,
			`-test.cpuprofile=C:\go-test\cpuprofile`, `-test.outputdir=C:\go-test\outputdir`, "-test.v=true", "-update", "--",
			"-test.trace=x",
		},
		Env: []string{"CI=true", "A=b=c", `GOCOVERDIR=C:\go-test\gocoverdir-variable`, "OWN=1"},
		Dir: in(p.Dir),
		Mounts: []single.Mount{
			{Source: dir, Target: in(dir)},
			{Source: work, Target: in(work), ReadOnly: true},
			{Source: "/x", Target: `D:\x`},
		},
		Stdin: true,
	}

	if diff := cmp.Diff(want, ask); diff != "" {
		t.Error(diff)
	}

	outputs := []output{
		{work + "/_cover_.out", "coverprofile", file},
		{work + "/gocoverdir", "gocoverdir", folder},
		{filepath.Join(dir, "cpu.out"), "cpuprofile", file},
		{dir, "outputdir", folder},
		{work + "/gocoverdir", "gocoverdir-variable", folder},
	}

	if diff := cmp.Diff(outputs, c.outputs, cmp.AllowUnexported(output{})); diff != "" {
		t.Error(diff)
	}
}

// TestPlaceOfRoots: what root owns is only read, and the program's folder in the module is there once.
func TestPlaceOfRoots(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has folders of root's")
	}
	dir := module(t, 0)
	p := Program{Path: filepath.Join(dir, "pkg", "pkg.test.exe"), Dir: filepath.Join(dir, "pkg")}
	ask := single.Run{Dir: `C:\`}
	if _, err := p.place(&ask); err != nil {
		t.Fatal(err)
	}

	place, _ := onWindows(dir) // it has one
	want := []single.Mount{{Source: dir, Target: place, ReadOnly: true}}
	if diff := cmp.Diff(want, ask.Mounts); diff != "" {
		t.Error(diff)
	}
	if ask.Dir != `C:\` {
		t.Errorf("it works in %s, not where -w says", ask.Dir)
	}
}

func TestPlaceIsRefused(t *testing.T) {
	for _, p := range []Program{
		{Path: "/x/a.exe", Dir: "/"},
		{Path: "/x/a.exe", Dir: "x"},
		{Path: "/x:y/a.exe", Dir: "/x"},
		{Path: "/x/a.exe", Dir: "/x/b|c"},
	} {
		if _, err := p.place(&single.Run{}); err == nil {
			t.Errorf("%+v has a place", p)
		}
	}
}

// TestPlaceOfOddFlags holds what the program itself complains about.
func TestPlaceOfOddFlags(t *testing.T) {
	for _, tt := range []struct {
		args, want []string
		outputs    int
	}{
		{[]string{"-test.trace"}, []string{"-test.trace"}, 0},
		{[]string{"-test.trace="}, []string{"-test.trace="}, 0},
		{[]string{"-"}, []string{"-"}, 0},
		{[]string{"test.trace=x"}, []string{"test.trace=x"}, 0},
		{
			[]string{"-test.trace=a", "-test.trace=b"},
			[]string{`-test.trace=C:\go-test\trace`, `-test.trace=C:\go-test\trace`},
			1,
		},
	} {
		args, outputs := Program{Dir: "/x", Args: tt.args}.outputs()
		if diff := cmp.Diff(tt.want, args); diff != "" || len(outputs) != tt.outputs {
			t.Errorf("of %q: %d outputs, %s", tt.args, len(outputs), diff)
		}
	}
}
