// Package where owns where.exe, which finds files by patterns.
package where

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
)

// Exit codes of where (https://learn.microsoft.com/windows-server/administration/windows-commands/where).
const (
	exitFound = 0
	exitNone  = 1
	exitBad   = 2
)

// defaultExtensions are the extensions of programs if PATHEXT is not set.
const defaultExtensions = ".COM;.EXE;.BAT;.CMD;.VBS;.VBE;.JS;.JSE;.WSF;.WSH;.MSC"

type lookup struct {
	quiet, quoted, times bool
	below                string // the folder of /r
	patterns             []string
}

// Run prints the files in the current folder and in PATH, or below a folder, that match patterns.
func Run(e program.Env, args []string) int {
	var l lookup
	for i := 0; i < len(args); i++ {
		name, is := program.Option(args[i])
		switch {
		case !is:
			l.patterns = append(l.patterns, args[i])
		case name == "?":
			usage(e)
			return exitFound

		case name == "q":
			l.quiet = true
		case name == "f":
			l.quoted = true
		case name == "t":
			l.times = true
		case name == "r" && i+1 < len(args):
			i++
			l.below = args[i]

		default:
			e.Complain("ERROR: Invalid argument or option - '%s'.", args[i])
			e.Complain(`Type "WHERE /?" for usage.`)
			return exitBad
		}
	}

	if len(l.patterns) == 0 {
		usage(e)
		return exitBad
	}
	if info, err := os.Stat(l.below); l.below != "" && (err != nil || !info.IsDir()) {
		e.Complain("ERROR: The system cannot find the file specified.")
		return exitBad
	}

	return l.run(e)
}

func usage(e program.Env) {
	e.Print("The syntax of this command is:\r\n\r\nWHERE [/R dir] [/Q] [/F] [/T] pattern...")
}

func (l lookup) run(e program.Env) int {
	var missing []string
	for _, pattern := range l.patterns {
		found := l.find(e, pattern)
		if len(found) == 0 {
			missing = append(missing, pattern)
		}
		for _, file := range found {
			if !l.quiet {
				e.Print("%s", l.line(file))
			}
		}
	}
	switch {
	case len(missing) == 0:
		return exitFound
	case len(missing) < len(l.patterns):
		for _, pattern := range missing {
			if !l.quiet {
				e.Complain("INFO: Could not find %q.", pattern)
			}
		}
		return exitFound

	case !l.quiet:
		e.Complain("INFO: Could not find files for the given pattern(s).")
	}

	return exitNone
}

// find returns the files that match one pattern: a name, a list of folders and a name (a;b:name), or an environment
// variable with folders and a name ($variable:name).
func (l lookup) find(e program.Env, pattern string) []string {
	names := withExtensions(e, pattern)
	if l.below != "" {
		var found []string
		for _, file := range wildcard.Expand(strings.TrimRight(l.below, `\/`)+string(filepath.Separator)+"*", true) {
			if fitsOne(names, filepath.Base(file)) {
				found = append(found, absolute(file))
			}
		}
		return found
	}

	dirs := append([]string{"."}, filepath.SplitList(e.Getenv("PATH"))...)
	if i := strings.LastIndexByte(pattern, ':'); i > 1 {
		list := pattern[:i]
		if name, is := strings.CutPrefix(list, "$"); is {
			list = e.Getenv(name)
		}
		dirs, names = filepath.SplitList(list), withExtensions(e, pattern[i+1:])
	}

	var found []string
	seen := map[string]bool{}
	for _, dir := range dirs {
		dir = absolute(strings.Trim(dir, `"`))
		if seen[strings.ToLower(dir)] {
			continue
		}

		seen[strings.ToLower(dir)] = true
		for _, entry := range wildcard.Entries(dir) {
			if !entry.IsDir() && fitsOne(names, entry.Name()) {
				found = append(found, filepath.Join(dir, entry.Name()))
			}
		}
	}

	return found
}

// withExtensions returns the pattern itself, and the pattern with each extension of programs.
func withExtensions(e program.Env, pattern string) []string {
	extensions := e.Getenv("PATHEXT")
	if extensions == "" {
		extensions = defaultExtensions
	}
	names := []string{pattern}
	for ext := range strings.SplitSeq(extensions, ";") {
		if ext != "" {
			names = append(names, pattern+ext)
		}
	}
	return names
}

func fitsOne(patterns []string, name string) bool {
	for _, p := range patterns {
		if wildcard.Match(p, name) {
			return true
		}
	}
	return false
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func (l lookup) line(file string) string {
	name := file
	if l.quoted {
		name = `"` + file + `"`
	}
	info, err := os.Stat(file)
	if !l.times || err != nil {
		return name
	}
	when := info.ModTime().Local()
	return fmt.Sprintf("%9d   %s      %s  %s", info.Size(), when.Format("1/2/2006"), when.Format("3:04:05 PM"), name)
}
