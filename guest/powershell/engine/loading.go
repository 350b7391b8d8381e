package engine

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/module"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/scope"
	"mullion.dev/mullion/guest/powershell/words"
)

// loaded is what an import gives to who asks for it.
type loaded struct {
	name, path, kind string
	version          object.Value
	functions        map[string]*lang.Script
	variables        map[string]object.Value
	prefix           string // that the manifest asks for
}

// mostNested is how deep modules may import each other.
const mostNested = 10

// ImportModule runs a module: a file, a manifest or a folder of one. Its functions can be called afterwards.
func (f *frame) ImportModule(name string, how cmdlet.Import, out *object.Sink) (object.Value, error) {
	in := f.in
	path := module.File(name, in.Path, in.moduleFolders())
	if path == "" {
		return nil, object.NoModule(name)
	}
	got, err := in.load(path, out)
	if err != nil {
		return nil, err
	}
	if module.Older(got.version, how.Least) {
		return nil, object.NoModule(name)
	}
	to := f.OfModule()
	if to == nil || how.Global {
		to = in.Top.Scope
	}
	prefix := cmp.Or(how.Prefix, got.prefix)
	names := []string{}
	for _, fn := range slices.Sorted(maps.Keys(got.functions)) {
		wanted, err := pattern.FitsAny(how.Functions, fn)
		if err != nil {
			return nil, err
		}
		if how.Functions != nil && !wanted {
			continue
		}
		named := strings.ToLower(module.Prefixed(prefix, fn))
		to.Functions[named] = got.functions[fn]
		if prefix != "" {
			script := *got.functions[fn]
			if strings.EqualFold(script.Name, fn) {
				script.Name = module.Prefixed(prefix, script.Name)
			}
			to.Functions[named] = &script
		}
		if written := to.Functions[named].Name; strings.EqualFold(written, named) {
			named = written
		}
		names = append(names, named)
	}

	maps.Copy(to.Vars, got.variables)
	return in.keepModule(got, names), nil
}

// moduleFolders returns where modules are looked for (about_PSModulePath).
func (in *Interpreter) moduleFolders() []string {
	if path := in.Env["PSMODULEPATH"]; path != "" {
		return filepath.SplitList(path)
	}
	files := in.Env["PROGRAMFILES"]
	if files == "" || !in.Windows() {
		return nil
	}
	return []string{
		object.Text(in.home()) + `\Documents\WindowsPowerShell\Modules`,
		files + `\WindowsPowerShell\Modules`,
		in.folder() + `\Modules`,
	}
}

// load runs the files of a module.
func (in *Interpreter) load(path string, out *object.Sink) (*loaded, error) {
	if in.nested >= mostNested {
		return nil, object.Raise(object.RuntimeException, fmt.Sprintf("Cannot load the module '%s' because the module "+
			"nesting limit has been exceeded. Modules can only be nested to %d levels. Evaluate and change the order in which "+
			"you are loading modules to prevent exceeding the nesting limit, and then try running your script again.",
			path, mostNested))
	}

	in.nested++
	defer func() { in.nested-- }()
	if strings.EqualFold(filepath.Ext(path), ".psd1") {
		return in.loadManifest(path, out)
	}
	got := &loaded{
		path:      path,
		kind:      "Script",
		functions: map[string]*lang.Script{},
		variables: map[string]object.Value{},
	}
	got.name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	return got, in.loadScript(got, in.Top.child(), path, out)
}

// loadScript runs a file in the scope of a module, and adds what it exports.
func (in *Interpreter) loadScript(got *loaded, m *frame, path string, out *object.Sink) error {
	script, err := in.readFile(path)
	if err != nil {
		return late(err)
	}
	m.Module, m.File = &scope.Module{}, true
	if err := in.Top.within(m, script, in.invoked(script), nil, Feed{}, out); err != nil {
		return err
	}
	for _, fn := range slices.Sorted(maps.Keys(m.Functions)) {
		exported, err := pattern.FitsAny(m.Module.Exported, fn)
		if err != nil {
			return err
		}
		if exported || !m.Module.Chosen {
			got.functions[fn] = m.Functions[fn]
		}
	}

	for name, v := range m.Vars {
		exported, err := pattern.FitsAny(m.Module.Variables, name)
		if err != nil {
			return err
		}
		if exported {
			got.variables[name] = v
		}
	}

	return nil
}

// loadManifest runs what a manifest names: scripts, modules that it needs, nested ones, and the root.
func (in *Interpreter) loadManifest(path string, out *object.Sink) (*loaded, error) {
	table, err := in.dataFile(path)
	if err != nil {
		return nil, err
	}
	m := module.Manifest{Table: table, Path: path}
	got := &loaded{
		name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), path: path, kind: "Manifest",
		functions: map[string]*lang.Script{}, variables: map[string]object.Value{},
		prefix: object.Text(table.Get("DefaultCommandPrefix")),
	}

	if got.version, err = library.ParseVersion(object.Text(table.Get("ModuleVersion"))); err != nil {
		return nil, object.Raise("System.IO.InvalidDataException", "The module manifest '"+path+"' could not be processed "+
			"because it is not a valid Windows PowerShell module manifest: ModuleVersion is missing or no version.")
	}
	if err := in.needs(m, out); err != nil {
		return nil, err
	}
	home := in.Top.child()
	all := map[string]*lang.Script{}
	for _, name := range m.Names("NestedModules") {
		nested, err := in.loadPart(m, name, in.Top.child(), out)
		if err != nil {
			return nil, err
		}
		maps.Copy(home.Functions, nested.functions)
		maps.Copy(all, nested.functions)
	}

	root := append(m.Names("RootModule"), m.Names("ModuleToProcess")...)
	for _, name := range root[:min(1, len(root))] {
		of, err := in.loadPart(m, name, home, out)
		if err != nil {
			return nil, err
		}
		got.kind = "Script"
		maps.Copy(all, of.functions)
		maps.Copy(got.variables, of.variables)
	}

	for name, fn := range all {
		exported, err := m.Exports(name)
		if err != nil {
			return nil, err
		}
		if exported {
			got.functions[name] = fn
		}
	}

	return got, nil
}

// needs runs the scripts that a manifest wants first, and imports the modules that it needs.
func (in *Interpreter) needs(m module.Manifest, out *object.Sink) error {
	if len(m.Names("RequiredAssemblies")) > 0 {
		return notHere(&lang.LateExpr{What: "RequiredAssemblies of the module " + m.Path})
	}
	for _, name := range m.Names("RequiredModules") {
		if in.isHere(name) {
			continue
		}
		if _, err := in.Top.ImportModule(name, cmdlet.Import{Global: true}, out); err != nil {
			return err
		}
	}

	for _, name := range m.Names("ScriptsToProcess") {
		script, err := in.readFile(m.Beside(name))
		if err != nil {
			return late(err)
		}
		if err := in.Top.within(in.Top, script, in.invoked(script), nil, Feed{}, out); err != nil {
			return err
		}
	}

	return nil
}

// loadPart runs a file that a manifest names, or a module of another place.
func (in *Interpreter) loadPart(m module.Manifest, name string, home *frame, out *object.Sink) (*loaded, error) {
	path := m.Beside(name)
	switch extension := strings.ToLower(filepath.Ext(name)); {
	case extension == ".dll" || extension == ".cdxml" || extension == ".xaml" || extension == ".exe":
		return nil, notHere(&lang.LateExpr{What: "the module " + name + ", which is no script,"})
	case extension != ".psm1" && extension != ".ps1" && extension != ".psd1":
		if path = module.InFolder(m.Beside(name)); path == "" {
			path = m.Beside(name + ".psm1")
		}
		if _, err := os.Stat(path); err != nil {
			path = module.File(name, in.Path, in.moduleFolders())
		}
	}

	if _, err := os.Stat(path); err != nil {
		return nil, object.NoModule(name)
	}
	if strings.EqualFold(filepath.Ext(path), ".psd1") {
		return in.load(path, out)
	}
	got := &loaded{
		path:      path,
		functions: map[string]*lang.Script{},
		variables: map[string]object.Value{},
	}
	return got, in.loadScript(got, home, path, out)
}

// isHere reports whether a module of Windows is a part of this PowerShell.
func (in *Interpreter) isHere(name string) bool {
	return slices.Contains(cmdlet.Modules(), strings.ToLower(name))
}

// keepModule notes a module for Get-Module, and returns it as an object.
func (in *Interpreter) keepModule(got *loaded, names []string) object.Value {
	version := got.version
	if version == nil {
		version, _ = library.ParseVersion("0.0")
	}
	functions := object.NewTable(true)
	listed := []object.Value{}
	for _, name := range names {
		functions.Set(name, name)
		listed = append(listed, name)
	}
	o := module.Object(got.kind, got.name, got.path, version).Set("ExportedCommands", listed)
	o.Props["exportedfunctions"] = functions
	same := func(other *object.Object) bool { return other.Props["path"] == got.path }
	in.modules = slices.DeleteFunc(in.modules, same)
	in.modules = append(in.modules, o)
	return o
}

// getModule carries out Get-Module: those that are imported, or with -ListAvailable those in the folders of modules.
func getModule(c *cmdlet.Call) error {
	f := frameOf(c)
	all := slices.Clone(f.in.modules)
	if c.Flags["listavailable"] {
		all = module.Available(f.in.moduleFolders(), f.in.dataFile)
	}
	var patterns []string
	for _, v := range c.Items("name") {
		patterns = append(patterns, object.Text(v))
	}
	for _, o := range all {
		fits, err := pattern.FitsAny(patterns, object.Text(o.Props["name"]))
		if err != nil {
			return err
		}
		if !fits && patterns != nil {
			continue
		}
		if err := c.Out.Put(o); err != nil {
			return err
		}
	}

	return nil
}

// removeModule carries out Remove-Module: the functions of a module cannot be called any more.
func removeModule(c *cmdlet.Call) error {
	in := frameOf(c).in
	for _, v := range c.Items("name") {
		name := object.Text(v)
		if o, ok := v.(*object.Object); ok {
			name = object.Text(o.Props["name"])
		}
		found := false
		for _, o := range slices.Clone(in.modules) {
			if fits, err := pattern.FitsAny([]string{name}, object.Text(o.Props["name"])); err != nil || !fits {
				continue
			}
			found = true
			for fn := range object.Each(o.Props["exportedcommands"]) {
				delete(in.Top.Functions, strings.ToLower(object.Text(fn)))
			}
			in.modules = slices.DeleteFunc(in.modules, func(other *object.Object) bool { return other == o })
		}
		if !found {
			err := words.Errorf("No modules were removed. Verify that the specification of modules to remove is correct and " +
				"those modules exist in the runspace.")
			if err := c.Fail(err); err != nil {
				return err
			}
		}
	}

	return nil
}

// exportMembers says which functions of a module can be called from outside.
func exportMembers(c *cmdlet.Call) error {
	m := frameOf(c).OfModule()
	if m == nil {
		return c.Fail(words.Errorf("The Export-ModuleMember cmdlet can only be called from inside a module."))
	}
	m.Module.Chosen = true
	for _, v := range append(c.Items("function"), object.Items(c.Values["alias"])...) {
		m.Module.Exported = append(m.Module.Exported, object.Text(v))
	}
	for v := range object.Each(c.Values["variable"]) {
		m.Module.Variables = append(m.Module.Variables, object.Text(v))
	}
	return nil
}
