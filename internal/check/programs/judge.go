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
	"mullion.dev/mullion/internal/windows/winapi"
	"mullion.dev/mullion/internal/windows/wineapi"
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

	for library, names := range winapi.Exports() {
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

	for _, row := range winapi.SupportRows() {
		for _, name := range row.API {
			j.rows[strings.ToLower(name)] = row
		}
	}

	return j, nil
}

// Set judges the programs of a set. Findings are in the order of the paths.
func (j *Judge) Set(s *Set, of check.Object, file string) check.Result {
	s.byName = map[string][]*program{}
	keys := slices.Sorted(maps.Keys(s.files))
	for _, k := range keys {
		s.byName[path.Base(k)] = append(s.byName[path.Base(k)], s.files[k])
	}

	r := check.Result{
		File:   file,
		Pods:   map[check.OS]int{},
		Passed: map[string]int{},
	}

	users := j.users(s, keys)
	for _, k := range keys {
		p := s.files[k]
		add := func(id, note string, severity check.Severity) {
			rule := j.rules[id]
			if rule == nil {
				return // turned off
			}

			r.Findings = append(r.Findings, check.Finding{
				Rule:     rule,
				Severity: cmp.Or(severity, rule.Severity),
				Object:   of,
				File:     file,
				Message:  rule.Title + ": " + note,
				Hit: check.Hit{
					Pos:  manifest.Pos{Line: 1, Column: 1},
					Path: s.shown(p),
					Note: note,
				},
			})
		}

		if p.err != nil {
			if ext := path.Ext(k); ext == ".exe" || ext == ".dll" {
				r.Faults = append(r.Faults, manifest.Fault{
					Pos:     manifest.Pos{Line: 1, Column: 1},
					Message: fmt.Sprintf("%s is malformed: %v", s.shown(p), p.err),
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

// machine returns the name of a processor.
func machine(m uint16) string {
	switch m {
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return "ARM64"
	case pe.IMAGE_FILE_MACHINE_ARMNT:
		return "32-bit ARM"
	}
	return fmt.Sprintf("machine %#x", m)
}

// users finds for each file a program that loads it at its start, itself if it is one.
func (j *Judge) users(s *Set, keys []string) map[*program]*program {
	users := map[*program]*program{}
	var todo []*program
	for _, k := range keys {
		if p := s.files[k]; p.starts() {
			users[p] = p
			todo = append(todo, p)
		}
	}

	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		for _, i := range p.pe.Imports {
			next := s.library(j.api, j.versions[len(j.versions)-1], p, i.Library).file
			if next != nil && users[next] == nil && next.native() {
				users[next] = users[p]
				todo = append(todo, next)
			}
		}
	}

	return users
}

// lack is what a file misses of one library; its functions are in one finding.
type lack struct {
	rule, library string
	delayed       bool
	versions      string // of Wine, as messages say them
}

// lacks are what a file misses.
type lacks struct {
	bad   map[oneLack][]string // the versions of Wine
	order []oneLack
}

// oneLack is a function, or the library itself.
type oneLack struct {
	lack
	function string
}

func (l *lacks) add(rule string, i pefile.Import, delayed bool, function, version string) {
	one := oneLack{lack{
		rule:    rule,
		library: i.Library,
		delayed: delayed,
	}, function}
	if l.bad[one] == nil {
		l.order = append(l.order, one)
	}
	l.bad[one] = append(l.bad[one], version)
}

// library adds what is missing of one library.
func (j *Judge) library(l *lacks, s *Set, p *program, i pefile.Import, delayed bool) {
	if delayed && strings.HasSuffix(strings.ToLower(i.Library), ".exe") {
		return // what loads it: addons of Node.js find the program themselves
	}

	for _, version := range j.versions {
		f := s.library(j.api, version, p, i.Library)
		if !f.there {
			l.add(rules.ProgramMissingLibrary, i, delayed, "", version)
			continue
		}

		for _, fn := range i.Functions {
			switch j.api.function(version, i.Library, f, fn) {
			case wineapi.Stub:
				l.add(rules.ProgramStubFunction, i, delayed, fn.String(), version)
			case wineapi.NoFunction:
				l.add(rules.ProgramMissingFunction, i, delayed, fn.String(), version)
			case wineapi.NoLibrary, wineapi.There:
			}
		}
	}
}

// imports judges what a file imports. user is a program that loads it at its start, nil if none does.
func (j *Judge) imports(s *Set, p, user *program, add func(id, note string, severity check.Severity)) {
	l := &lacks{bad: map[oneLack][]string{}}
	for _, i := range p.pe.Imports {
		j.library(l, s, p, i, false)
	}

	for _, i := range p.pe.Delayed {
		j.library(l, s, p, i, true)
	}

	together := map[lack][]string{}
	var order []lack
	for _, one := range l.order {
		to := one.lack
		if wines := l.bad[one]; len(wines) < len(j.api.wine.Versions()) {
			to.versions = " (with Wine " + strings.Join(wines, " and ") + ")"
		}
		if _, known := together[to]; !known {
			order = append(order, to)
		}
		together[to] = append(together[to], one.function)
	}

	for _, to := range order {
		note, severity := to.wants(s.shown(p), together[to]), j.severity(to)
		switch {
		case to.delayed && to.rule == rules.ProgramMissingLibrary:
			note += ", which is loaded when it first calls it"
		case user == nil: // something loads it by its name, or nothing does
			note += "; no program here loads it at its start, so only who loads it is concerned"
			severity = lesser(severity)
		case user != p:
			note += "; " + s.shown(user) + " loads it at its start"
		}

		add(to.rule, note+j.row(to, together[to]), severity)
	}
}

// maxFunctions is how many functions a message names.
const maxFunctions = 12

// wants says which functions a file wants of the library.
func (l lack) wants(file string, functions []string) string {
	if l.rule == rules.ProgramMissingLibrary {
		return file + " wants " + l.library + l.versions
	}
	named := strings.Join(functions[:min(len(functions), maxFunctions)], ", ")
	if more := len(functions) - maxFunctions; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return file + " wants " + named + " of " + l.library + l.versions
}

// row returns what the support rows say of the library and its functions, with a separator before it.
func (j *Judge) row(l lack, functions []string) string {
	host, _, _ := j.api.wine.Library(j.versions[0], l.library)
	var note strings.Builder
	for _, fn := range append([]string{""}, functions...) {
		for _, library := range []string{l.library, host} {
			row, ok := j.rows[strings.ToLower(strings.TrimSpace(library+" "+fn))]
			if ok && library != "" {
				fmt.Fprintf(&note, "; docs/compat, %s: %s", row.Name, row.Note)
				break
			}
		}
	}
	return note.String()
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
