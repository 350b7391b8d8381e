package programs

import (
	"cmp"
	"debug/pe"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/support"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/manifest"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/pefile"
	"mullion.dev/mullion/internal/windows/wineapi"
	"mullion.dev/mullion/shim"
)

// Judge judges sets of programs by the rules that it was given.
type Judge struct {
	api      *api
	versions []string
	rules    map[string]*check.Rule
	rows     map[string]support.Row // by "library function" or "library", in lower case
}

// NewJudge uses those of the rules that are about programs. versions are the Wines to judge by; none: all that are
// known.
func NewJudge(all []check.Rule, versions []string) (*Judge, error) {
	wine, err := wineapi.Load()
	if err != nil {
		return nil, err
	}
	exports, err := shim.Exports()
	if err != nil {
		return nil, err
	}
	j := &Judge{
		api:      &api{wine: wine, shims: map[string]map[string]bool{}},
		versions: versions,
		rules:    map[string]*check.Rule{},
		rows:     map[string]support.Row{},
	}
	if len(versions) == 0 {
		j.versions = wine.Versions()
	}
	for _, v := range j.versions {
		if !slices.Contains(wine.Versions(), v) {
			return nil, fmt.Errorf("wine version %q: known are %s", v, strings.Join(wine.Versions(), ", "))
		}
	}
	for library, names := range exports {
		set := map[string]bool{}
		for _, n := range names {
			set[n] = true
		}
		j.api.shims[strings.ToLower(library)] = set
	}
	for _, r := range all {
		if r.Target == check.OnProgram {
			j.rules[r.ID] = &r
		}
	}
	for _, row := range shim.SupportRows() {
		for _, name := range row.API {
			j.rows[strings.ToLower(name)] = row
		}
	}
	return j, nil
}

// lack is what a file misses of one library: the key under which functions are collected for one finding.
type lack struct {
	rule, library string
	delayed       bool
	versions      string
}

// Set judges the programs of a set. Findings are in the order of the paths.
func (j *Judge) Set(s *Set, of check.Object, file string) check.Result {
	s.byName = map[string][]*program{}
	keys := slices.Sorted(maps.Keys(s.files))
	for _, k := range keys {
		s.byName[path.Base(k)] = append(s.byName[path.Base(k)], s.files[k])
	}
	r := check.Result{File: file, Pods: map[check.OS]int{}, Passed: map[string]int{}}
	users := j.users(s, keys)
	for _, k := range keys {
		p := s.files[k]
		add := func(id, note string, severity check.Severity) {
			rule := j.rules[id]
			if rule == nil {
				return // turned off
			}
			f := check.Finding{
				Rule: rule, Severity: cmp.Or(severity, rule.Severity), Object: of, File: file, Message: rule.Title + ": " + note,
				Hit: check.Hit{Pos: manifest.Pos{Line: 1, Column: 1}, Path: s.shown(p), Note: note},
			}
			r.Findings = append(r.Findings, f)
		}
		if p.err != nil {
			if ext := path.Ext(k); ext == ".exe" || ext == ".dll" {
				r.Faults = append(r.Faults, manifest.Fault{
					Pos: manifest.Pos{Line: 1, Column: 1}, Message: fmt.Sprintf("%s is malformed: %v", s.shown(p), p.err),
				})
			}
			continue
		}
		j.kind(s, p, add)
		if p.native() {
			j.imports(s, p, users[p], add)
		}
	}
	return r
}

// kind judges what sort of file it is.
func (j *Judge) kind(s *Set, p *program, add func(id, note string, severity check.Severity)) {
	switch {
	case s.framework(p):
		add(rules.ProgramNetFramework, s.shown(p), "")
	case p.pe.Managed:
	case p.pe.Subsystem == pe.IMAGE_SUBSYSTEM_NATIVE && path.Ext(key(p.path)) == ".sys":
		add(rules.ProgramDriver, s.shown(p), "")
	case p.pe.Library || p.native():
	case p.pe.Machine == pe.IMAGE_FILE_MACHINE_I386:
		add(rules.Program32Bit, s.shown(p), "")
	case p.pe.Subsystem == pe.IMAGE_SUBSYSTEM_WINDOWS_CUI || p.pe.Subsystem == pe.IMAGE_SUBSYSTEM_WINDOWS_GUI:
		add(rules.ProgramOtherProcessor, fmt.Sprintf("%s is for %s", s.shown(p), machine(p.pe.Machine)), "")
	}
}

// machine is the name of a processor.
func machine(m uint16) string {
	switch m {
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return "ARM64"
	case pe.IMAGE_FILE_MACHINE_ARMNT:
		return "32-bit ARM"
	}
	return fmt.Sprintf("machine %#x", m)
}

// users finds for each file the programs that load it at their start, itself if it is a program.
func (j *Judge) users(s *Set, keys []string) map[*program][]*program {
	users := map[*program][]*program{}
	for _, k := range keys {
		start := s.files[k]
		if !start.starts() {
			continue
		}
		todo := []*program{start}
		seen := map[*program]bool{start: true}
		for len(todo) > 0 {
			p := todo[0]
			todo = todo[1:]
			users[p] = append(users[p], start)
			for _, i := range p.pe.Imports {
				next := s.library(j.api, j.versions[len(j.versions)-1], p, i.Library).file
				if next != nil && !seen[next] && next.native() {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
	}
	return users
}

// imports judges what a file imports. users are the programs that load it at their start.
func (j *Judge) imports(s *Set, p *program, users []*program, add func(id, note string, severity check.Severity)) {
	type at struct {
		lack
		function string
	}
	bad := map[at][]string{} // versions
	var order []at
	look := func(i pefile.Import, delayed bool) {
		if delayed && strings.HasSuffix(strings.ToLower(i.Library), ".exe") {
			return // what loads it: addons of Node.js find the program themselves
		}
		for _, version := range j.versions {
			put := func(a at) {
				if bad[a] == nil {
					order = append(order, a)
				}
				bad[a] = append(bad[a], version)
			}
			f := s.library(j.api, version, p, i.Library)
			if !f.there {
				put(at{lack{rule: rules.ProgramMissingLibrary, library: i.Library, delayed: delayed}, ""})
				continue
			}
			for _, fn := range i.Functions {
				switch j.api.function(version, i.Library, f, fn) {
				case wineapi.Stub:
					put(at{lack{rule: rules.ProgramStubFunction, library: i.Library, delayed: delayed}, fn.String()})
				case wineapi.NoFunction:
					put(at{lack{rule: rules.ProgramMissingFunction, library: i.Library, delayed: delayed}, fn.String()})
				case wineapi.NoLibrary, wineapi.There:
				}
			}
		}
	}
	for _, i := range p.pe.Imports {
		look(i, false)
	}
	for _, i := range p.pe.Delayed {
		look(i, true)
	}
	together := map[lack][]string{}
	var lacks []lack
	for _, a := range order {
		l := a.lack
		if len(bad[a]) < len(j.api.wine.Versions()) {
			l.versions = " (with Wine " + strings.Join(bad[a], " and ") + ")"
		}
		if _, known := together[l]; !known {
			lacks = append(lacks, l)
		}
		if !slices.Contains(together[l], a.function) {
			together[l] = append(together[l], a.function)
		}
	}
	for _, l := range lacks {
		j.report(s, p, users, l, together[l], add)
	}
}

// maxFunctions is how many functions a message names.
const maxFunctions = 12

// report adds the finding for what a file misses of a library.
func (j *Judge) report(s *Set, p *program, users []*program, l lack, functions []string,
	add func(id, note string, severity check.Severity),
) {
	note := s.shown(p) + " wants " + l.library
	if l.rule != rules.ProgramMissingLibrary {
		named := functions[:min(len(functions), maxFunctions)]
		note = fmt.Sprintf("%s wants %s of %s", s.shown(p), strings.Join(named, ", "), l.library)
		if more := len(functions) - len(named); more > 0 {
			note = fmt.Sprintf("%s wants %s and %d more of %s", s.shown(p), strings.Join(named, ", "), more, l.library)
		}
	}
	note += l.versions
	severity := j.severity(l)
	switch {
	case l.delayed && l.rule == rules.ProgramMissingLibrary:
		note += ", which is loaded when it first calls it"
	case p.starts():
	case len(users) == 0: // something loads it by its name, or nothing does
		note += "; no program here loads it at its start, so only who loads it is concerned"
		severity = lesser(severity)
	default:
		note += "; " + s.shown(users[0]) + " loads it at its start"
		if more := len(users) - 1; more > 0 {
			note += fmt.Sprintf(", and %d more", more)
		}
	}
	for _, fn := range append([]string{""}, functions...) {
		host, _, _ := j.api.wine.Library(j.versions[0], l.library)
		for _, library := range []string{l.library, host} {
			if row, ok := j.rows[strings.ToLower(strings.TrimSpace(library+" "+fn))]; ok && library != "" {
				note += fmt.Sprintf("; docs/compat, %s: %s", row.Name, row.Note)
				break
			}
		}
	}
	add(l.rule, note, severity)
}

// severity is that of a rule, less by one if the library is loaded later: programs try newer libraries of Windows so,
// and do without.
func (j *Judge) severity(l lack) check.Severity {
	rule := j.rules[l.rule]
	if rule == nil {
		return ""
	}
	if l.delayed {
		return lesser(rule.Severity)
	}
	return rule.Severity
}

func lesser(s check.Severity) check.Severity {
	if s == check.Error {
		return check.Warning
	}
	return check.Info
}
