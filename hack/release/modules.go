package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// program is a program of Go, and the modules that it was built of.
type program struct {
	path    string
	main    string
	modules []debug.Module
	cgo     bool // linked with libraries of C
}

// readModules reads them from the programs; what is not of Go has none.
func readModules(entries []entry) ([]program, error) {
	var all []program
	for _, e := range entries {
		info, err := buildinfo.ReadFile(e.source)
		if err != nil {
			continue // C, or no program
		}

		all = append(all, program{
			path:    e.path,
			main:    info.Path,
			modules: append(modulesOf(info), standardLibrary(info.GoVersion)),
			cgo:     slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"}),
		})
	}

	if len(all) == 0 {
		return nil, fmt.Errorf("no program says of which modules it was built")
	}

	return all, nil
}

// modulesOf returns the modules of others that a program was built of. One without a version is a folder of this
// repository, that of the program or one that a replacement of go.mod names.
func modulesOf(info *debug.BuildInfo) []debug.Module {
	const folder = "(devel)"
	var all []debug.Module
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "" && m.Version != folder {
			all = append(all, *m)
		}
	}

	return all
}

// stdlib is Go's standard library and runtime, under the name that bills of materials give it.
const stdlib = "stdlib"

// standardLibrary returns it as a module, from what a program says of its compiler: "go1.26.6", or with experiments
// "go1.26.6 X:…".
func standardLibrary(compiler string) debug.Module {
	version, _, _ := strings.Cut(strings.TrimPrefix(compiler, "go"), " ")
	return debug.Module{Path: stdlib, Version: version}
}

// distinct returns the modules of all programs, each once.
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

// own is Mullion's licence, and that of upstream's programs of Kubernetes, containerd and the rest of a release.
const own = "Apache-2.0"

// writeSBOM writes the bill of materials as SPDX 2.3: a parcel contains programs, which were made from modules.
func (r release) writeSBOM(file string, of parcel, programs []program, from sources) error {
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

	add := func(id common.ElementID, name, version, licence, purl string) {
		p := &v2_3.Package{
			PackageName:             name,
			PackageSPDXIdentifier:   id,
			PackageVersion:          version,
			PackageDownloadLocation: none,
			PackageLicenseConcluded: none,
			PackageLicenseDeclared:  licence,
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
	add(self, of.name, of.version, own, "")
	relate("DOCUMENT", common.TypeRelationshipDescribe, self)
	for _, m := range distinct(programs) {
		l, err := from.licenceOf(m)
		if err != nil {
			return err
		}
		add(id("module", name(m)), m.Path, m.Version, l.expression(), "pkg:golang/"+name(m))
	}

	for _, p := range programs {
		program := id("program", p.path)
		add(program, p.path, of.version, own, "")
		relate(self, common.TypeRelationshipContains, program)
		for _, l := range libraries(p) {
			add(id("library", l.name), l.name, none, l.licence, "pkg:deb/debian/"+l.debian)
			relate(program, "STATIC_LINK", id("library", l.name))
		}

		for _, m := range p.modules {
			relate(program, common.TypeRelationshipDependsOn, id("module", name(m)))
		}
	}

	bill, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}

	return os.WriteFile(file, append(bill, '\n'), 0o600)
}

// id returns an identifier of SPDX: letters, digits, dots and dashes.
func id(kind, name string) common.ElementID {
	return common.ElementID(kind + "-" + regexp.MustCompile(`[^A-Za-z0-9.]+`).ReplaceAllString(name, "-"))
}
