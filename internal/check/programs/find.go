package programs

import (
	"path"
	"strings"

	"mullion.dev/mullion/internal/windows/pefile"
	"mullion.dev/mullion/internal/windows/wineapi"
)

// system is the folder of Windows' own libraries.
const system = "/windows/system32/"

// api is what a program finds beside the files of its image.
type api struct {
	wine  *wineapi.API
	shims map[string]map[string]bool // Mullion's libraries, which take the place of Wine's
}

// found is where a library is: in an image's file, or in Mullion or Wine, or nowhere.
type found struct {
	file  *program
	there bool
}

// library finds a library as Wine's loader does for a program: API sets, the folder of the program, system32. PATH and
// what a program itself adds to the search are not known, so that a file anywhere else in the image counts too, after
// Wine's.
func (s *Set) library(a *api, version string, of *program, name string) found {
	name = strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	if !strings.Contains(name, ".") {
		name += ".dll"
	}
	_, wines, final := a.wine.Library(version, name)
	if final {
		return found{}
	}

	apiSet := wines && (strings.HasPrefix(name, "api-") || strings.HasPrefix(name, "ext-"))
	if p := s.files[path.Join(path.Dir(key(of.path)), name)]; !apiSet && p.loads(of) {
		return found{file: p, there: true}
	}
	if p := s.files[system+name]; p.loads(of) && (!wines || pefile.Redistributable(name)) {
		return found{file: p, there: true}
	}

	if wines || a.shims[name] != nil {
		return found{there: true}
	}
	for _, p := range s.byName[name] {
		if p.loads(of) {
			return found{file: p, there: true}
		}
	}

	return found{}
}

// loads reports whether a file can be loaded by another as a library.
func (p *program) loads(by *program) bool {
	return p != nil && p.err == nil && (p.pe.Machine == by.pe.Machine || p.pe.Managed)
}

// function says what of a function there is in the library that f found.
func (a *api) function(version, library string, f found, fn pefile.Function) wineapi.State {
	switch {
	case !f.there:
		return wineapi.NoLibrary
	case f.file != nil:
		if f.file.exports[fn.String()] || f.file.pe.Managed {
			return wineapi.There
		}
		return wineapi.NoFunction
	}

	if shim := a.shims[strings.ToLower(library)]; shim != nil {
		if fn.Name == "" || shim[fn.Name] {
			return wineapi.There
		}
		return wineapi.NoFunction
	}

	return a.wine.Function(version, library, fn)
}
