package layout

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/spec"
)

func newPaths(t *testing.T) Paths {
	t.Helper()
	return Paths{Data: filepath.Join(t.TempDir(), "data"), Bin: "/bin"}
}

// Two data folders share no name, and a folder has the same names each time.
func TestNamesAreOfTheFolder(t *testing.T) {
	a, b := Paths{Data: "/var/lib/mullion"}, Paths{Data: "/var/lib/other"}
	names := func(p Paths) []string {
		return []string{p.Run(), p.Socket(), p.Link(), p.Scope(), p.CgroupParent(), p.Node("win-1"), p.NodeRun("win-1")}
	}
	if diff := cmp.Diff(names(a), names(Paths{Data: "/var/lib/mullion", Bin: "/elsewhere"})); diff != "" {
		t.Errorf("names of one folder (-first +second):\n%s", diff)
	}

	for i, name := range names(a) {
		if name == names(b)[i] {
			t.Errorf("%q is of two folders", name)
		}
	}

	if n := len(a.Link()); n > 15 { // IFNAMSIZ is 16, with the end of the string
		t.Errorf("a link's name has %d bytes", n)
	}
	if !strings.HasPrefix(a.Run(), RunRoot+"/") || !strings.HasPrefix(a.Socket(), a.Run()+"/") {
		t.Errorf("run folder %s, socket %s", a.Run(), a.Socket())
	}
}

// The specification comes back as it was saved, and only its owner may read it.
func TestSpec(t *testing.T) {
	p := newPaths(t)
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := p.LoadSpec(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a cluster: %v", err)
	}

	c, err := spec.Load(strings.NewReader(
		"apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: team\nnodes: [{windowsVersion: ltsc2022}, {os: linux}]"))
	if err != nil {
		t.Fatal(err)
	}
	c = c.WithDefaults()
	if err := p.SaveSpec(c); err != nil {
		t.Fatal(err)
	}

	got, err := p.LoadSpec()
	if diff := cmp.Diff(c, got); err != nil || diff != "" {
		t.Errorf("%v (-saved +loaded):\n%s", err, diff)
	}
	if info, err := os.Stat(p.Spec()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}

	for _, text := range []string{"", "[]", `{"kind":"Cluster"}`} {
		if err := os.WriteFile(p.Spec(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.LoadSpec(); err == nil || !strings.Contains(err.Error(), p.Spec()) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A join that was cut short is one that has a claim and no specification yet.
func TestLeftover(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	p := newPaths(t)
	write := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if p.Leftover() {
		t.Error("nothing is a leftover")
	}
	if write(p.JoinClaim()); !p.Leftover() {
		t.Error("a claim without a cluster is none")
	}
	if write(p.Spec()); p.Leftover() {
		t.Error("a cluster is one")
	}
}
