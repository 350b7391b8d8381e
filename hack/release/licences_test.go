package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// TestBuiltPrograms reads the licence of each module of every program that a release would have, of those groups that
// are built here.
func TestBuiltPrograms(t *testing.T) {
	from, err := findSources()
	if err != nil {
		t.Fatal(err)
	}

	programs, err := readModules(built(t))
	if err != nil {
		t.Skipf("nothing is built: %v", err)
	}

	for _, m := range distinct(programs) {
		if l, err := from.licenceOf(m); err != nil {
			t.Error(err)
		} else if len(l.files) == 0 {
			t.Errorf("%s: no file", name(m))
		}
	}

	t.Logf("%d modules of %d programs have licences that are allowed", len(distinct(programs)), len(programs))
}

// built returns the files of a release that are there, and says which are not.
func built(t *testing.T) []entry {
	t.Helper()
	r := release{bin: "../../bin", root: "../.."}
	versions, err := filepath.Glob(filepath.Join(r.bin, "kubernetes/*"))
	if err != nil {
		t.Fatal(err)
	}

	groups := []func() ([]entry, error){r.programs, r.e2e}
	for _, v := range versions {
		groups = append(groups, func() ([]entry, error) { return r.bundle(filepath.Base(v)) })
	}

	for _, p := range platforms() {
		file := filepath.Join("plugin", p.os+"-"+p.arch, p.program())
		groups = append(groups, func() ([]entry, error) { return r.found("make release", file) })
	}

	var all []entry
	for _, group := range groups {
		files, err := group()
		if err != nil {
			t.Logf("not looked at: %v", err)
		}
		all = append(all, files...)
	}

	return all
}

// TestLicences reads folders of modules as the cache has them.
func TestLicences(t *testing.T) {
	text, err := os.ReadFile("testdata/GPL-3.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	gpl := string(text)

	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // the expression
		err   string
	}{
		{name: "none", files: map[string]string{"README.md": "MIT"}, err: "has no licence"},
		{name: "MIT", files: map[string]string{"LICENSE": mit}, want: "MIT"},
		{name: "MIT and a notice", files: map[string]string{"LICENSE.md": mit, "NOTICE": "Of somebody."}, want: "MIT"},
		{name: "of nobody", files: map[string]string{"COPYING": "You may look at it."}, err: "no known licence"},
		{name: "GPL", files: map[string]string{"LICENSE": gpl}, err: "has the text of GPL-3.0"},
		{name: "GPL behind MIT", files: map[string]string{"LICENSE": mit + "\n\n" + gpl}, err: "has the text of GPL-3.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := t.TempDir()
			m := debug.Module{Path: "example.com/M", Version: "v1.0.0"}
			folder := filepath.Join(cache, "example.com/!m@v1.0.0")
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}

			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			l, err := sources{modules: cache, known: map[string]licence{}}.licenceOf(m)
			switch {
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("%v, want %q", err, c.err)
			case c.err == "" && (err != nil || l.expression() != c.want):
				t.Errorf("%q, %v, want %q", l.expression(), err, c.want)
			}
		})
	}
}

// TestModulesOf reads what a program says of modules that were replaced.
func TestModulesOf(t *testing.T) {
	module := func(path, version string) *debug.Module { return &debug.Module{Path: path, Version: version} }
	other, ours := module("example.com/b", "v1.0.0"), module("example.com/c", "v1.0.0")
	folder := module("./c", "(devel)")
	other.Replace, ours.Replace = module("example.com/d", "v1.1.0"), folder

	got := modulesOf(&debug.BuildInfo{Deps: []*debug.Module{module("example.com/a", "v1.0.0"), other, ours, folder}})
	want := []debug.Module{{Path: "example.com/a", Version: "v1.0.0"}, {Path: "example.com/d", Version: "v1.1.0"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestStandardLibrary looks for Go's own licence among those of what a program consists of.
func TestStandardLibrary(t *testing.T) {
	from, err := findSources()
	if err != nil {
		t.Fatal(err)
	}

	for compiler, want := range map[string]string{"go1.26.6": "stdlib@1.26.6", "go1.27 X:jsonv2": "stdlib@1.27"} {
		m := standardLibrary(compiler)
		l, err := from.licenceOf(m)
		if err != nil || name(m) != want || l.expression() != "BSD-3-Clause" || len(l.files) != 2 {
			t.Errorf("%s: %s, %+v, %v: want the licence and the grant of patents of %s", compiler, name(m), l, err, want)
		}
	}
}

// TestExpression looks at the licence of a package: each once, in order.
func TestExpression(t *testing.T) {
	from, err := findSources()
	if err != nil {
		t.Fatal(err)
	}
	std := []debug.Module{standardLibrary("go1.26.6")}

	got, err := from.expressionOf([]program{{modules: std}, {modules: std, cgo: true}})
	if want := "Apache-2.0 AND BSD-3-Clause AND LGPL-2.1-only AND LGPL-2.1-or-later"; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}

	gone := debug.Module{Path: "example.com/gone", Version: "v1.0.0"}
	if _, err := from.expressionOf([]program{{modules: []debug.Module{gone}}}); err == nil ||
		!strings.Contains(err.Error(), "go mod download example.com/gone@v1.0.0") {
		t.Errorf("a module that is not there: %v", err)
	}
}

// mit is the text of the MIT licence.
const mit = `MIT License

Copyright (c) 2026 The authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`

// TestLibrariesOfC looks for those of C in the texts and the bill of materials of a program with cgo.
func TestLibrariesOfC(t *testing.T) {
	runc := program{path: "lib/mullion/runc", cgo: true}
	if _, err := os.Stat("/usr/share/doc/libseccomp-dev/copyright"); err != nil {
		t.Skip("libseccomp-dev, which runc is linked with, is not installed")
	}

	from, err := findSources()
	if err != nil {
		t.Fatal(err)
	}

	texts := filepath.Join(t.TempDir(), "THIRD-PARTY.txt")
	bill := filepath.Join(t.TempDir(), "sbom.spdx.json")
	of := parcel{name: "mullion", version: "v1.2.3"}
	programs := []program{runc}
	err = errors.Join(from.writeLicences(texts, programs), release{}.writeSBOM(bill, of, programs, from))
	if err != nil {
		t.Fatal(err)
	}

	for file, want := range map[string][]string{
		texts: {
			"libseccomp: LGPL-2.1-only, linked statically into lib/mullion/runc", "glibc: LGPL-2.1-or-later", relink,
			"==== libseccomp: libseccomp-dev ====", "==== glibc: libc6-dev ====", "==== LGPL-2.1 ====",
			"GNU LESSER GENERAL PUBLIC LICENSE",
		},
		bill: {`"pkg:deb/debian/libseccomp-dev"`, `"licenseDeclared": "LGPL-2.1-only"`, `"STATIC_LINK"`},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !bytes.Contains(text, []byte(w)) {
				t.Errorf("%s has no %q", filepath.Base(file), w)
			}
		}
	}
}
