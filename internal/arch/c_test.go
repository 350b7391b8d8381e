package arch_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cFolder is one folder of guest/c: the sources of one library or program.
type cFolder struct {
	name  string
	units map[string]*cUnit // by the files' name without its ending
}

// cUnit is a source with the header of its name.
type cUnit struct {
	defines  map[string]bool // functions and variables that other sources can name
	uses     map[string]bool // names that its code mentions, its own included
	includes map[string]bool // the folder's headers that its header includes
}

var (
	cNoise    = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`)
	cInclude  = regexp.MustCompile(`(?m)^#include "(\w+)\.h"`)
	cMacro    = regexp.MustCompile(`(?m)^#define (\w+)(.*)$`)
	cCommand  = regexp.MustCompile(`(?m)^\s*#.*$`)
	cToken    = regexp.MustCompile(`[A-Za-z_]\w*|->|[^\s\w]`)
	cName     = regexp.MustCompile(`^[A-Za-z_]\w*$`)
	cContinue = "\\\n"
)

// cFolders reads all folders of guest/c.
func cFolders(t *testing.T) map[string]*cFolder {
	t.Helper()
	texts := map[string]string{}
	// By where they hold (a source, a folder) and name: the names in its text.
	macros := map[string]map[string][]string{}

	for _, path := range files(t, ".c", ".h") {
		name, err := filepath.Rel(filepath.Join(root, "guest", "c"), path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "..") || strings.HasPrefix(name, "testdata/") {
			continue
		}
		text := strings.ReplaceAll(read(t, path), cContinue, " ")
		texts[name] = text

		scope := name
		if strings.HasSuffix(name, ".h") {
			scope = filepath.Dir(name)
		}
		if macros[scope] == nil {
			macros[scope] = map[string][]string{}
		}

		for _, m := range cMacro.FindAllStringSubmatch(cNoise.ReplaceAllString(text, " "), -1) {
			macros[scope][m[1]] = append(macros[scope][m[1]], cToken.FindAllString(m[2], -1)...)
		}
	}

	if len(texts) < 200 {
		t.Fatalf("found only %d files of C in guest/c", len(texts))
	}

	folders := map[string]*cFolder{}
	for name, text := range texts {
		folder := filepath.Dir(name)
		if folders[folder] == nil {
			folders[folder] = &cFolder{name: folder, units: map[string]*cUnit{}}
		}
		folders[folder].add(name, text, macros)
	}

	return folders
}

// add reads one file, whose name tells its unit and whether it is a header.
func (f *cFolder) add(name, text string, macros map[string]map[string][]string) {
	stem, ending, _ := strings.Cut(filepath.Base(name), ".")
	unit := f.units[stem]
	if unit == nil {
		unit = &cUnit{
			defines:  map[string]bool{},
			uses:     map[string]bool{},
			includes: map[string]bool{},
		}
		f.units[stem] = unit
	}

	header := ending == "h"
	if header {
		for _, m := range cInclude.FindAllStringSubmatch(text, -1) {
			unit.includes[m[1]] = true
		}
	}
	code := cCommand.ReplaceAllString(cNoise.ReplaceAllString(text, " "), "")
	unit.scan(cToken.FindAllString(code, -1), header)

	// A macro mentions what its text mentions.
	for again := true; again; {
		before := len(unit.uses)
		for _, scope := range []string{name, f.name, "common"} {
			for used := range maps.Clone(unit.uses) {
				for _, word := range macros[scope][used] {
					unit.uses[word] = true
				}
			}
		}

		again = len(unit.uses) > before
	}
}

// scan notes what the tokens of a file define and use. A header uses only what is in the bodies of its functions: its
// declarations may be those of another file.
func (u *cUnit) scan(tokens []string, header bool) {
	var statement []string // the tokens since the last one at the outermost level ended, without what is in braces
	depth, parens := 0, 0
	function := false

	for i, token := range tokens {
		u.use(tokens, i, header && (depth == 0 || !function))

		switch token {
		case "(":
			parens++
		case ")":
			parens--
		case "{":
			if depth == 0 {
				function = slices.Contains(statement, "(") && !slices.Contains(statement, "=")
			}
			depth++

		case "}":
			depth--
			if depth == 0 && function {
				u.define(statement)
				statement = nil
			}
			continue

		case ";":
			if depth == 0 {
				if !slices.Contains(statement, "(") || slices.Contains(statement, "=") {
					u.define(statement)
				}
				statement = nil
				continue
			}
		}

		if depth == 0 && (parens == 0 || token == "(") {
			statement = append(statement, token)
		}
	}
}

// use notes the name at place i, unless it is a member, the tag of a type, or one that does not count.
func (u *cUnit) use(tokens []string, i int, skip bool) {
	if skip || !cName.MatchString(tokens[i]) {
		return
	}
	if i > 0 && slices.Contains([]string{".", "->", "struct", "enum", "union"}, tokens[i-1]) {
		return
	}
	u.uses[tokens[i]] = true
}

// define notes what a statement of the outermost level defines, if other sources can name it.
func (u *cUnit) define(statement []string) {
	for _, word := range []string{"static", "extern", "typedef"} {
		if slices.Contains(statement, word) {
			return
		}
	}

	names := 0
	for i, token := range statement {
		if !cName.MatchString(token) {
			continue
		}

		names++
		next := ";"
		if i+1 < len(statement) {
			next = statement[i+1]
		}
		switch {
		case token == strings.ToUpper(token), names == 1:
		case slices.Contains([]string{"struct", "enum", "union"}, statement[i-1]):
		case next == "(":
			u.defines[token] = true
			return
		case slices.Contains([]string{";", ",", "=", "["}, next):
			u.defines[token] = true
		}

		if next == "=" {
			return
		}
	}
}

// cPrefixes are what the names of a folder's functions and variables begin with, if that is not the folder's name: what
// the functions of the API begin with that the folder has. In folders of cByFile they are those of a file.
var cPrefixes = map[string]string{
	"bindfltapi":     "bind_",
	"computecore":    "hcs_",
	"computenetwork": "hcn_",
	"linux":          "lx_", // hooks/linux.c
	"vmcompute":      "hcs_",
	"wevtapi":        "evt_",
}

// cByFile are the folders in which a name begins with what the name of its file begins with: hooks has a subject a
// file, and common belongs to no library.
var cByFile = map[string]bool{"hooks": true, "common": true}

// cGivenNames are what Windows, or the compiler, calls by a name of its own.
var cGivenNames = regexp.MustCompile(`^(DllMain|DriverEntry|wmain|mem(cmp|cpy|move|set)|str[a-z]+|wcs[a-z]+)$`)

// TestCNamesHavePrefixes holds that a name which other sources can use says where it belongs. Names in capitals are
// Windows', or stand for one of Windows' functions, and are in the library's definition.
func TestCNamesHavePrefixes(t *testing.T) {
	seen := 0
	for _, folder := range cFolders(t) {
		prefix := cPrefixes[folder.name]
		if prefix == "" {
			prefix = folder.name + "_"
		}
		exports := exportsOf(t, folder.name)

		for stem, unit := range folder.units {
			for name := range unit.defines {
				seen++
				switch first, _, _ := strings.Cut(name, "_"); {
				case cGivenNames.MatchString(name), exports[name]:
				case cByFile[folder.name] && len(first) > 1 && strings.HasPrefix(stem, first):
				case cByFile[folder.name] && first+"_" == cPrefixes[stem]:
				case cByFile[folder.name]:
					t.Errorf("guest/c/%s/%s.c: %s should begin with the file's name", folder.name, stem, name)
				case !strings.HasPrefix(name, prefix):
					t.Errorf("guest/c/%s/%s.c: %s should begin with %s", folder.name, stem, name, prefix)
				}
			}
		}
	}

	if seen < 600 {
		t.Errorf("only %d names were seen", seen)
	}
}

// exportsOf returns the names that the definition of a folder's library mentions, without those in small letters.
func exportsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	exports := map[string]bool{}
	definitions, err := filepath.Glob(filepath.Join(root, "guest", "c", folder, "*.def"))
	if err != nil {
		t.Fatal(err)
	}

	for _, definition := range definitions {
		for _, name := range cToken.FindAllString(read(t, definition), -1) {
			if name != strings.ToLower(name) {
				exports[name] = true
			}
		}
	}

	return exports
}
