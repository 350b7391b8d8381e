package module

import (
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
)

// Manifest is what a .psd1 file says of a module
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_module_manifests).
type Manifest struct {
	Table *object.Hashtable
	Path  string
}

// Names returns the texts of a key: names or patterns, or of hash tables that name modules.
func (m Manifest) Names(key string) []string {
	var all []string
	for v := range object.Each(m.Table.Get(key)) {
		if t, ok := v.(*object.Hashtable); ok {
			v = t.Get("ModuleName")
		}
		if s := object.Text(v); s != "" {
			all = append(all, s)
		}
	}

	return all
}

// Beside returns the path of a file that the manifest names.
func (m Manifest) Beside(name string) string {
	return filepath.Join(filepath.Dir(m.Path), filepath.FromSlash(strings.ReplaceAll(name, `\`, "/")))
}

// Exports reports whether the manifest lets a function be exported. Without the key all are.
func (m Manifest) Exports(name string) (bool, error) {
	if !m.Table.Has("FunctionsToExport") {
		return true, nil
	}
	patterns := append(m.Names("FunctionsToExport"), m.Names("AliasesToExport")...)
	return pattern.FitsAny(patterns, name)
}
