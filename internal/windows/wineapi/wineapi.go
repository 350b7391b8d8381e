// Package wineapi knows which libraries and functions each supported Wine has, and which of the functions are stubs: to
// call one ends the program. The list is data, which hack/wineapi makes from Wine's own files; read.go reads these. It
// says nothing of how well a function works.
package wineapi

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed" // the list
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mullion.dev/mullion/internal/windows/pefile"
)

//go:embed wine.gz
var list []byte

// State says what a Wine has of a function.
type State byte

// The states.
const (
	NoLibrary  State = iota // there is no such library
	NoFunction              // the library does not export it
	Stub                    // it is exported, and to call it ends the program
	There
)

// API is what the Wines have.
type API struct {
	versions  []string
	libraries map[string]*library
	sets      map[string][]set // API sets by name without the last number: for each version
}

// library is what is known of one library, for each version.
type library struct {
	there     []bool
	functions map[string]string // name -> a digit of State for each version
	ordinals  []ordinals
}

// set is where an API set leads in a version.
type set struct {
	known bool
	host  string // "": nothing implements it
}

// Load returns the list that the program has in it.
var Load = sync.OnceValues(func() (*API, error) { //nolint:gochecknoglobals // does not change
	r, err := gzip.NewReader(bytes.NewReader(list))
	if err != nil {
		return nil, fmt.Errorf("read the list of Wine's functions: %w", err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read the list of Wine's functions: %w", err)
	}

	return parse(string(text))
})

// Versions lists the versions of Wine, oldest first: 8.0, 10.0.
func (a *API) Versions() []string { return slices.Clone(a.versions) }

// Library says by the name of a DLL, in any case, under which name a version of Wine has it: an API set has the
// name of the library that implements it. ok is false if the version has none; final says that then no other folder
// is looked at either.
func (a *API) Library(version, name string) (host string, ok, final bool) {
	v := slices.Index(a.versions, version)
	if v < 0 {
		return "", false, false
	}

	host = strings.ToLower(name)
	if !strings.Contains(host, ".") {
		host += ".dll"
	}

	if strings.HasPrefix(host, "api-") || strings.HasPrefix(host, "ext-") {
		if s := a.sets[contract(host)]; s != nil && s[v].known {
			if host = s[v].host; host == "" {
				return "", false, true
			}
		}
	}

	l := a.libraries[host]
	if l == nil || !l.there[v] {
		return "", false, false
	}

	return host, true, false
}

// contract returns the name of an API set without the last number and the ending, by which Windows and Wine look it up
// (https://learn.microsoft.com/windows/win32/apiindex/api-set-loader-operation).
func contract(name string) string {
	name = strings.TrimSuffix(name, ".dll")
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		name = name[:i]
	}
	return name
}

// Function says what a version of Wine has of a function of a library.
func (a *API) Function(version, name string, f pefile.Function) State {
	host, ok, _ := a.Library(version, name)
	if !ok {
		return NoLibrary
	}

	v, l := slices.Index(a.versions, version), a.libraries[host]
	if f.Name == "" {
		return l.ordinals[v].state(uint32(f.Ordinal))
	}
	if s, ok := l.functions[f.Name]; ok {
		return State(s[v] - '0')
	}

	return NoFunction
}

// Exporters lists the libraries that export a function in any version, the ones that programs import first, without
// those of Windows' kernel.
func (a *API) Exporters(function string) []string {
	var out []string
	for name, l := range a.libraries {
		if _, ok := l.functions[function]; ok && strings.HasSuffix(name, ".dll") {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(x, y string) int {
		return cmp.Or(cmp.Compare(inner(x), inner(y)), cmp.Compare(x, y))
	})
	return out
}

// Working lists the functions of a library that some version has, and not as a stub.
func (a *API) Working(library string) []string {
	l := a.libraries[strings.ToLower(library)]
	if l == nil {
		return nil
	}

	var out []string
	for name, states := range l.functions {
		if strings.Contains(states, strconv.Itoa(int(There))) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// inner ranks libraries that others pass on what they have.
func inner(library string) int {
	return slices.Index([]string{"ucrtbase.dll", "kernelbase.dll", "win32u.dll", "ntdll.dll"}, library)
}
