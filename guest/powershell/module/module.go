package module

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
)

// File returns the file of a module: of a path, a folder, or a name in one of the folders of modules; "" without.
// Resolve makes a path of a script one of the machine.
func File(name string, resolve func(path string) string, folders []string) string {
	low := strings.ToLower(name)
	isFile := slices.ContainsFunc([]string{".psm1", ".psd1", ".ps1"}, func(e string) bool { return strings.HasSuffix(low, e) })
	if strings.ContainsAny(name, `/\`) || isFile {
		path := resolve(strings.ReplaceAll(name, `\`, string(filepath.Separator)))
		if info, err := os.Stat(path); isFile && (err != nil || info.IsDir()) {
			return ""
		}
		if isFile {
			return path
		}
		return InFolder(path)
	}

	for _, dir := range folders {
		if path := InFolder(filepath.Join(dir, name)); path != "" {
			return path
		}
	}

	return ""
}

// InFolder returns the file of the module that a folder is, or of its newest version in it; "" without.
func InFolder(folder string) string {
	name := filepath.Base(folder)
	find := func(dir string) string {
		for _, extension := range []string{".psd1", ".psm1"} {
			if info, err := os.Stat(filepath.Join(dir, name+extension)); err == nil && !info.IsDir() {
				return filepath.Join(dir, name+extension)
			}
		}
		return ""
	}

	if path := find(folder); path != "" {
		return path
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	newest, of := "", library.Version{}
	for _, e := range entries {
		v, err := library.ParseVersion(e.Name())
		path := find(filepath.Join(folder, e.Name()))
		if err != nil || path == "" {
			continue
		}
		if version := object.Own[library.Version](v); newest == "" || version.Compare(of) > 0 {
			newest, of = path, version
		}
	}

	return newest
}

// Older reports whether a module's version is older than what is wanted, if anything is.
func Older(version, least object.Value) bool {
	if least == nil || version == nil {
		return false
	}
	return object.Own[library.Version](version).Compare(object.Own[library.Version](least)) < 0
}

// Prefixed returns a command's name with a prefix before its noun.
func Prefixed(prefix, name string) string {
	if prefix == "" {
		return name
	}
	verb, noun, ok := strings.Cut(name, "-")
	if !ok {
		return prefix + name
	}
	return verb + "-" + prefix + noun
}

// Object returns a module as Get-Module shows it
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.psmoduleinfo).
func Object(kind, name, path string, version object.Value) *object.Object {
	o := object.New("module").Set("ModuleType", kind).Set("Version", version).Set("Name", name)
	o.Props["path"], o.Props["modulebase"] = path, filepath.Dir(path)
	return o
}

// Available returns the modules in folders of modules. Data reads a .psd1 file.
func Available(folders []string, data func(path string) (*object.Hashtable, error)) []*object.Object {
	var all []*object.Object
	for _, dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a folder that is not there has none
		}
		for _, e := range entries {
			path := InFolder(filepath.Join(dir, e.Name()))
			if path == "" {
				continue
			}
			version, _ := library.ParseVersion("0.0")
			kind := "Script"
			if strings.EqualFold(filepath.Ext(path), ".psd1") {
				kind = "Manifest"
				if t, err := data(path); err == nil {
					if v, err := library.ParseVersion(object.Text(t.Get("ModuleVersion"))); err == nil {
						version = v
					}
				}
			}
			all = append(all, Object(kind, e.Name(), path, version))
		}
	}

	return all
}
