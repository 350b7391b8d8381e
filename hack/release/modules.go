package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
	"golang.org/x/mod/module"
)

// program is a program of Go, and the modules that it was built of.
type program struct {
	path    string
	main    string
	modules []debug.Module
}

// readModules reads them from the programs; what is not of Go has none.
func readModules(entries []entry) ([]program, error) {
	var all []program
	for _, e := range entries {
		info, err := buildinfo.ReadFile(e.source)
		if err != nil {
			continue // C, or no program
		}
		p := program{path: e.path, main: info.Path}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			if m.Version != "" { // else a part of this repository
				p.modules = append(p.modules, *m)
			}
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no program says of which modules it was built")
	}
	return all, nil
}

// distinct are the modules of all programs, each once.
func distinct(programs []program) []debug.Module {
	var all []debug.Module
	for _, p := range programs {
		all = append(all, p.modules...)
	}
	compare := func(a, b debug.Module) int { return strings.Compare(name(a), name(b)) }
	slices.SortFunc(all, compare)
	return slices.CompactFunc(all, func(a, b debug.Module) bool { return compare(a, b) == 0 })
}

func name(m debug.Module) string { return m.Path + "@" + m.Version }

// writeSBOM writes the bill of materials as SPDX 2.3: a parcel contains programs, which were made from modules.
func (r release) writeSBOM(file string, of parcel, programs []program) error {
	none := "NOASSERTION"
	document := of.name + "-" + strings.TrimPrefix(of.version, "v")
	doc := v2_3.Document{
		SPDXVersion:       v2_3.Version,
		DataLicense:       v2_3.DataLicense,
		SPDXIdentifier:    "DOCUMENT",
		DocumentName:      document,
		DocumentNamespace: "https://mullion.dev/spdx/" + document,
		CreationInfo: &v2_3.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "mullion-release"}},
			Created:  r.time.Format("2006-01-02T15:04:05Z"),
		},
	}
	add := func(id common.ElementID, name, version, purl string) {
		p := &v2_3.Package{
			PackageName:             name,
			PackageSPDXIdentifier:   id,
			PackageVersion:          version,
			PackageDownloadLocation: none,
			PackageLicenseConcluded: none,
			PackageLicenseDeclared:  none,
			PackageCopyrightText:    none,
		}
		if purl != "" {
			p.PackageExternalReferences = []*v2_3.PackageExternalReference{{
				Category: common.CategoryPackageManager,
				RefType:  common.TypePackageManagerPURL,
				Locator:  purl,
			}}
		}
		doc.Packages = append(doc.Packages, p)
	}
	relate := func(a common.ElementID, kind string, b common.ElementID) {
		doc.Relationships = append(doc.Relationships, &v2_3.Relationship{
			RefA:         common.MakeDocElementID("", string(a)),
			RefB:         common.MakeDocElementID("", string(b)),
			Relationship: kind,
		})
	}
	self := common.ElementID(of.name)
	add(self, of.name, of.version, "")
	relate("DOCUMENT", common.TypeRelationshipDescribe, self)
	for _, m := range distinct(programs) {
		add(id("module", name(m)), m.Path, m.Version, "pkg:golang/"+name(m))
	}
	for _, p := range programs {
		program := id("program", p.path)
		add(program, p.path, of.version, "")
		relate(self, common.TypeRelationshipContains, program)
		for _, m := range p.modules {
			relate(program, common.TypeRelationshipDependsOn, id("module", name(m)))
		}
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}

// id is an identifier of SPDX: letters, digits, dots and dashes.
func id(kind, name string) common.ElementID {
	return common.ElementID(kind + "-" + regexp.MustCompile(`[^A-Za-z0-9.]+`).ReplaceAllString(name, "-"))
}

// writeLicences writes the licences and notices of all modules, from the module cache.
func writeLicences(file string, programs []program) error {
	cache, err := moduleCache()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintln(&out, "The programs of Mullion contain these modules. The programs of C contain Mullion's own code alone.")
	for _, m := range distinct(programs) {
		path, err := module.EscapePath(m.Path)
		if err != nil {
			return err
		}
		version, err := module.EscapeVersion(m.Version)
		if err != nil {
			return err
		}
		texts, err := filepath.Glob(filepath.Join(cache, path+"@"+version, "*"))
		if err != nil {
			return err
		}
		texts = slices.DeleteFunc(texts, func(f string) bool {
			return !regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`).MatchString(filepath.Base(f))
		})
		if len(texts) == 0 {
			return fmt.Errorf("%s has no licence in the module cache %q", name(m), cache)
		}
		for _, f := range texts {
			text, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "\n==== %s: %s ====\n\n%s", name(m), filepath.Base(f), text)
		}
	}
	return os.WriteFile(file, out.Bytes(), 0o600)
}
