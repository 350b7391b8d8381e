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
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// module is a module of a file, while and after it runs.
type module struct {
	exported  []string // patterns of Export-ModuleMember
	variables []string // patterns of variables
	chosen    bool     // it was called
}

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
	path := in.moduleFile(name)
	if path == "" {
		return nil, object.NoModule(name)
	}
	got, err := in.load(path, out)
	if err != nil {
		return nil, err
	}
	if got.older(how.Least) {
		return nil, object.NoModule(name)
	}
	to := f.moduleFrame()
	if to == nil || how.Global {
		to = in.Top
	}
	prefix := cmp.Or(how.Prefix, got.prefix)
	names := []string{}
	for _, fn := range slices.Sorted(maps.Keys(got.functions)) {
		wanted, err := fitsAny(how.Functions, fn)
		if err != nil {
			return nil, err
		}
		if how.Functions != nil && !wanted {
			continue
		}
		named := strings.ToLower(prefixed(prefix, fn))
		to.functions[named] = got.functions[fn]
		if prefix != "" {
			script := *got.functions[fn]
			if strings.EqualFold(script.Name, fn) {
				script.Name = prefixed(prefix, script.Name)
			}
			to.functions[named] = &script
		}
		if written := to.functions[named].Name; strings.EqualFold(written, named) {
			named = written
		}
		names = append(names, named)
	}
	maps.Copy(to.vars, got.variables)
	return in.keepModule(got, names), nil
}

// older reports whether a module's version is older than what is wanted, if anything is.
func (l *loaded) older(least object.Value) bool {
	if least == nil || l.version == nil {
		return false
	}
	return object.Own[library.Version](l.version).Compare(object.Own[library.Version](least)) < 0
}

// prefixed returns a command's name with a prefix before its noun.
func prefixed(prefix, name string) string {
	if prefix == "" {
		return name
	}
	verb, noun, ok := strings.Cut(name, "-")
	if !ok {
		return prefix + name
	}
	return verb + "-" + prefix + noun
}

// moduleFile returns the file of a module: of a path, a folder, or a name in one of the folders of modules; "" without.
func (in *Interpreter) moduleFile(name string) string {
	low := strings.ToLower(name)
	isFile := slices.ContainsFunc([]string{".psm1", ".psd1", ".ps1"}, func(e string) bool { return strings.HasSuffix(low, e) })
	if strings.ContainsAny(name, `/\`) || isFile {
		path := in.Path(strings.ReplaceAll(name, `\`, string(filepath.Separator)))
		if info, err := os.Stat(path); isFile && (err != nil || info.IsDir()) {
			return ""
		}
		if isFile {
			return path
		}
		return inFolder(path)
	}
	for _, dir := range in.moduleFolders() {
		if path := inFolder(filepath.Join(dir, name)); path != "" {
			return path
		}
	}
	return ""
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

// inFolder returns the file of the module that a folder is, or of its newest version in it; "" without.
func inFolder(folder string) string {
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
	got := &loaded{path: path, kind: "Script", functions: map[string]*lang.Script{}, variables: map[string]object.Value{}}
	got.name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	return got, in.loadScript(got, in.Top.child(), path, out)
}

// loadScript runs a file in the scope of a module, and adds what it exports.
func (in *Interpreter) loadScript(got *loaded, m *frame, path string, out *object.Sink) error {
	script, err := in.readFile(path)
	if err != nil {
		return late(err)
	}
	m.module, m.file = &module{}, true
	if err := in.Top.within(m, script, in.invoked(script), nil, Feed{}, out); err != nil {
		return err
	}
	for _, fn := range slices.Sorted(maps.Keys(m.functions)) {
		exported, err := fitsAny(m.module.exported, fn)
		if err != nil {
			return err
		}
		if exported || !m.module.chosen {
			got.functions[fn] = m.functions[fn]
		}
	}
	for name, v := range m.vars {
		exported, err := fitsAny(m.module.variables, name)
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
	m := manifest{table, path}
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
	for _, name := range m.names("NestedModules") {
		nested, err := in.loadPart(m, name, in.Top.child(), out)
		if err != nil {
			return nil, err
		}
		maps.Copy(home.functions, nested.functions)
		maps.Copy(all, nested.functions)
	}
	root := append(m.names("RootModule"), m.names("ModuleToProcess")...)
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
		exported, err := m.exports(name)
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
func (in *Interpreter) needs(m manifest, out *object.Sink) error {
	if len(m.names("RequiredAssemblies")) > 0 {
		return notHere(&lang.LateExpr{What: "RequiredAssemblies of the module " + m.path})
	}
	for _, name := range m.names("RequiredModules") {
		if in.isHere(name) {
			continue
		}
		if _, err := in.Top.ImportModule(name, cmdlet.Import{Global: true}, out); err != nil {
			return err
		}
	}
	for _, name := range m.names("ScriptsToProcess") {
		script, err := in.readFile(m.beside(name))
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
func (in *Interpreter) loadPart(m manifest, name string, home *frame, out *object.Sink) (*loaded, error) {
	path := m.beside(name)
	switch extension := strings.ToLower(filepath.Ext(name)); {
	case extension == ".dll" || extension == ".cdxml" || extension == ".xaml" || extension == ".exe":
		return nil, notHere(&lang.LateExpr{What: "the module " + name + ", which is no script,"})
	case extension != ".psm1" && extension != ".ps1" && extension != ".psd1":
		if path = inFolder(m.beside(name)); path == "" {
			path = m.beside(name + ".psm1")
		}
		if _, err := os.Stat(path); err != nil {
			path = in.moduleFile(name)
		}
	}
	if _, err := os.Stat(path); err != nil {
		return nil, object.NoModule(name)
	}
	if strings.EqualFold(filepath.Ext(path), ".psd1") {
		return in.load(path, out)
	}
	got := &loaded{path: path, functions: map[string]*lang.Script{}, variables: map[string]object.Value{}}
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
	o := object.New("module").Set("ModuleType", got.kind).Set("Version", version).Set("Name", got.name).
		Set("ExportedCommands", listed)
	o.Props["path"], o.Props["modulebase"], o.Props["exportedfunctions"] = got.path, filepath.Dir(got.path), functions
	same := func(other *object.Object) bool { return other.Props["path"] == got.path }
	in.modules = slices.DeleteFunc(in.modules, same)
	in.modules = append(in.modules, o)
	return o
}

// getModule is Get-Module: those that are imported, or with -ListAvailable those in the folders of modules.
func getModule(c *cmdlet.Call) error {
	f := frameOf(c)
	all := slices.Clone(f.in.modules)
	if c.Flags["listavailable"] {
		all = f.in.available()
	}
	var patterns []string
	for _, v := range c.Items("name") {
		patterns = append(patterns, object.Text(v))
	}
	for _, o := range all {
		fits, err := fitsAny(patterns, object.Text(o.Props["name"]))
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

// available returns the modules in the folders of modules.
func (in *Interpreter) available() []*object.Object {
	var all []*object.Object
	for _, dir := range in.moduleFolders() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a folder that is not there has none
		}
		for _, e := range entries {
			path := inFolder(filepath.Join(dir, e.Name()))
			if path == "" {
				continue
			}
			version, _ := library.ParseVersion("0.0")
			kind := "Script"
			if strings.EqualFold(filepath.Ext(path), ".psd1") {
				kind = "Manifest"
				if t, err := in.dataFile(path); err == nil {
					if v, err := library.ParseVersion(object.Text(t.Get("ModuleVersion"))); err == nil {
						version = v
					}
				}
			}
			o := object.New("module").Set("ModuleType", kind).Set("Version", version).Set("Name", e.Name())
			o.Props["path"], o.Props["modulebase"] = path, filepath.Dir(path)
			all = append(all, o)
		}
	}
	return all
}

// removeModule is Remove-Module: the functions of a module cannot be called any more.
func removeModule(c *cmdlet.Call) error {
	in := frameOf(c).in
	for _, v := range c.Items("name") {
		name := object.Text(v)
		if o, ok := v.(*object.Object); ok {
			name = object.Text(o.Props["name"])
		}
		found := false
		for _, o := range slices.Clone(in.modules) {
			if fits, err := fitsAny([]string{name}, object.Text(o.Props["name"])); err != nil || !fits {
				continue
			}
			found = true
			for fn := range object.Each(o.Props["exportedcommands"]) {
				delete(in.Top.functions, strings.ToLower(object.Text(fn)))
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
	m := frameOf(c).moduleFrame()
	if m == nil {
		return c.Fail(words.Errorf("The Export-ModuleMember cmdlet can only be called from inside a module."))
	}
	m.module.chosen = true
	for _, v := range append(c.Items("function"), object.Items(c.Values["alias"])...) {
		m.module.exported = append(m.module.exported, object.Text(v))
	}
	for v := range object.Each(c.Values["variable"]) {
		m.module.variables = append(m.module.variables, object.Text(v))
	}
	return nil
}
