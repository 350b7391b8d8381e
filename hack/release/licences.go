package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
	"golang.org/x/mod/module"
)

// allowed are the licences that a module of a shipped program may have, by SPDX's names, each with what it asks of who
// passes a program on beside its own text. A module with another one ends the release.
var allowed = map[string]string{
	"Apache-2.0":   "",
	"BSD-2-Clause": "",
	"BSD-3-Clause": "",
	"ISC":          "",
	"MIT":          "",
	// The licence of go-digest's documents, which are in no program.
	"CC-BY-SA-4.0": "",
	"MPL-2.0":      sourceOfModule,
}

const (
	sourceOfModule  = "Its source, unchanged, is at its address."
	sourceOfPackage = "Its source is that of Debian's package."
	relink          = "The whole program's source, and the commands that build it, are Mullion's repository: another version of it is linked from there."
)

// taken names, for a module that is offered under one licence or another, the one that is taken.
var taken = map[string]string{
	"github.com/spdx/tools-golang": "Apache-2.0", // or GPL-2.0: in this program alone
}

// licence is what a module may be used under.
type licence struct {
	// ids are SPDX's names of the licences in its files, sorted. All of them hold.
	ids   []string
	files []string // paths of the files
}

// expression returns the licence as SPDX writes it.
func (l licence) expression() string { return strings.Join(l.ids, " AND ") }

// asks returns what its licences ask beside their texts, a sentence each.
func (l licence) asks() []string {
	var all []string
	for _, id := range l.ids {
		if allowed[id] != "" {
			all = append(all, allowed[id])
		}
	}

	return all
}

// sources are where the go command has what programs are built of: modules, and its standard library.
type sources struct {
	modules, goroot string
	// known are the licences that have been read, by the name of the module.
	known map[string]licence
}

func findSources() (sources, error) {
	out, err := exec.Command("go", "env", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		return sources{}, fmt.Errorf("go env GOMODCACHE GOROOT: %w", err)
	}

	modules, goroot, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return sources{modules, goroot, map[string]licence{}}, nil
}

// folder returns where a module's files are.
func (s sources) folder(m debug.Module) (string, error) {
	if m.Path == stdlib {
		return s.goroot, nil
	}
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return "", err
	}
	version, err := module.EscapeVersion(m.Version)
	return filepath.Join(s.modules, path+"@"+version), err
}

// licenceOf reads a module's licence from its files. One that is not known, or not allowed, is an error.
func (s sources) licenceOf(m debug.Module) (licence, error) {
	if l, ok := s.known[name(m)]; ok {
		return l, nil
	}
	folder, err := s.folder(m)
	if err != nil {
		return licence{}, err
	}

	texts, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return licence{}, fmt.Errorf("%s is not in the module cache: run go mod download %s", name(m), name(m))
	}
	if err != nil {
		return licence{}, err
	}

	var l licence
	for _, entry := range texts {
		base, file := entry.Name(), filepath.Join(folder, entry.Name())
		switch {
		case beside.MatchString(base):
			l.files = append(l.files, file)
			continue
		case !licenceName.MatchString(base) || filepath.Ext(base) == ".go":
			continue
		}

		ids, err := licencesIn(file, taken[m.Path])
		if err != nil {
			return licence{}, fmt.Errorf("the licence of %s: %w", name(m), err)
		}
		l.ids = append(l.ids, ids...)
		l.files = append(l.files, file)
	}

	slices.Sort(l.ids)
	l.ids = slices.Compact(l.ids)
	if len(l.ids) == 0 {
		return licence{}, fmt.Errorf("%s has no licence in %q", name(m), folder)
	}

	s.known[name(m)] = l
	return l, nil
}

var (
	licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([.-].*)?$`)
	// What is passed on beside a licence: notices, and Google's grant of patents.
	beside = regexp.MustCompile(`(?i)^(notice|patents)([.-].*)?$`)
)

// licencesIn tells which licences' texts a file has, or, if one of them is taken, that one alone.
func licencesIn(file, taken string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}

	var ids []string
	for _, m := range licensecheck.Scan(text).Match {
		id := m.ID
		if taken != "" && id != taken {
			continue
		}
		if _, ok := allowed[id]; !ok {
			return nil, fmt.Errorf("%q has the text of %s, which the list in hack/release does not allow", file, id)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 && taken == "" {
		return nil, fmt.Errorf("%q has a text that is no known licence's", file)
	}

	return ids, nil
}

// library is one of C that a program is linked with statically.
type library struct {
	// licence is SPDX's expression of it.
	name, licence string
	// debian is the package that it is of, whose copyright file and these common texts are passed on.
	debian string
	texts  []string
	asks   string
}

// libraries returns those of C that a program of Go with cgo is linked with: runc, and nothing else.
func libraries(p program) []library {
	if !p.cgo {
		return nil
	}

	lesser := []string{"LGPL-2.1"}
	return []library{
		{"libseccomp", "LGPL-2.1-only", "libseccomp-dev", lesser, sourceOfPackage + " " + relink},
		{"glibc", "LGPL-2.1-or-later", "libc6-dev", lesser, sourceOfPackage + " " + relink},
	}
}

// expressionOf returns the licences of all that programs consist of, as SPDX writes them: Mullion's own and those of
// modules and libraries.
func (s sources) expressionOf(programs []program) (string, error) {
	all := []string{own}
	for _, m := range distinct(programs) {
		l, err := s.licenceOf(m)
		if err != nil {
			return "", err
		}
		all = append(all, l.ids...)
	}

	for _, p := range programs {
		for _, l := range libraries(p) {
			all = append(all, l.licence)
		}
	}

	slices.Sort(all)
	return strings.Join(slices.Compact(all), " AND "), nil
}

// writeLicences writes the licences and notices of all modules, and of the libraries of C from the machine that built
// the programs.
func (s sources) writeLicences(file string, programs []program) error {
	var out, texts bytes.Buffer
	fmt.Fprintf(&out, "The programs of Mullion contain these modules of Go. The programs and DLLs of C for Windows contain Mullion's own code\n"+
		"and the start code of MinGW-w64 and GCC, which asks for nothing.\n\n")
	for _, m := range distinct(programs) {
		l, err := s.licenceOf(m)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s: %s\n", name(m), l.expression())
		for _, ask := range l.asks() {
			fmt.Fprintf(&out, "    %s\n", ask)
		}

		for _, f := range l.files {
			if err := addText(&texts, name(m)+": "+filepath.Base(f), f); err != nil {
				return err
			}
		}
	}

	if err := writeLibraries(&out, &texts, programs); err != nil {
		return err
	}
	return os.WriteFile(file, append(out.Bytes(), texts.Bytes()...), 0o600)
}

// writeLibraries writes which libraries of C the programs are linked with, and their texts. What is asked to be passed
// on with them, Debian has in one place for all packages.
func writeLibraries(out, texts *bytes.Buffer, programs []program) error {
	common := map[string]bool{}
	for _, p := range programs {
		for _, l := range libraries(p) {
			fmt.Fprintf(out, "%s: %s, linked statically into %s as Debian's %s has it\n    %s\n", l.name, l.licence, p.path, l.debian, l.asks)
			if err := addText(texts, l.name+": "+l.debian, filepath.Join("/usr/share/doc", l.debian, "copyright")); err != nil {
				return err
			}
			for _, text := range l.texts {
				common[text] = true
			}
		}
	}

	for _, text := range slices.Sorted(maps.Keys(common)) {
		if err := addText(texts, text, filepath.Join("/usr/share/common-licenses", text)); err != nil {
			return err
		}
	}

	return nil
}

// addText adds a file below a headline.
func addText(to *bytes.Buffer, headline, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("the licence of %s: %w", headline, err)
	}
	fmt.Fprintf(to, "\n==== %s ====\n\n%s", headline, text)

	return nil
}
