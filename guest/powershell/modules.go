package powershell

import (
	"maps"
	"slices"
	"strings"
)

// module is a module of a file, while and after it runs.
type module struct {
	exported []string // patterns of Export-ModuleMember
	chosen   bool     // it was called
}

// scopes are the names of scopes that a variable or function may name.
func scopes() []string { return []string{"global", "script", "local"} }

// scope is the frame that a name before a colon means: $global:x, $script:x, $local:x.
func (f *frame) scope(name string) *frame {
	switch name {
	case "global":
		return f.in.top
	case "script":
		for s := f; s != nil; s = s.parent {
			if s.file {
				return s
			}
		}
		return f.in.top
	}
	return f
}

// moduleFrame is the frame of the module whose code runs, nil outside of one.
func (f *frame) moduleFrame() *frame {
	for s := f; s != nil; s = s.parent {
		if s.module != nil {
			return s
		}
	}
	return nil
}

// isModuleFile reports whether Import-Module is given a file.
func isModuleFile(name string) bool {
	low := lower(name)
	return strings.HasSuffix(low, ".psm1") || strings.HasSuffix(low, ".ps1")
}

// importFile runs a file as a module: its functions can be called afterwards, its variables only they see.
func (c *call) importFile(name string) error {
	in := c.f.in
	script, err := in.readFile(c.f, name)
	if err != nil {
		return late(err)
	}
	m := in.top.child()
	m.module, m.file = &module{}, true
	if err := in.top.within(m, script, nil, feed{}, c.out); err != nil {
		return err
	}
	for _, fn := range slices.Sorted(maps.Keys(m.functions)) {
		exported := !m.module.chosen
		for _, pattern := range m.module.exported {
			re, err := wildcard(pattern)
			if err != nil {
				return err
			}
			exported = exported || re.MatchString(fn)
		}
		if exported {
			in.top.functions[fn] = m.functions[fn]
		}
	}
	return nil
}

// exportMembers says which functions of a module can be called from outside.
func exportMembers(c *call) error {
	m := c.f.moduleFrame()
	if m == nil {
		return c.fail(itsWords("The Export-ModuleMember cmdlet can only be called from inside a module."))
	}
	m.module.chosen = true
	for _, v := range c.items("function") {
		m.module.exported = append(m.module.exported, text(v))
	}
	return nil
}

// setStrictMode makes reading a variable or property that is not there an error, in this scope and those below.
func setStrictMode(c *call) error {
	level := 0
	if v, ok := c.values["version"]; ok {
		level = map[string]int{"1": 1, "1.0": 1, "2": 2, "2.0": 2}[lower(text(v))]
		if level == 0 {
			level = 3
		}
	}
	if c.flags["off"] == (level > 0) {
		return thrown("%s : either -Version or -Off is needed.", c.name)
	}
	c.f.strict = &level
	return nil
}

// strictness is the level of Set-StrictMode, 0 without.
func (f *frame) strictness() int {
	for s := f; s != nil; s = s.parent {
		if s.strict != nil {
			return *s.strict
		}
	}
	return 0
}

// unset is the error of reading a variable that is not there, under Set-StrictMode.
func (f *frame) unset(v variable) error {
	if f.strictness() < 1 || v.env {
		return nil
	}
	return raise(runtimeException, "The variable '$"+v.name+"' cannot be retrieved because it has not been set.")
}

// absent is the error of reading a property that an object does not have, under Set-StrictMode.
func (f *frame) absent(of value, name string) error {
	o, ok := of.(*object)
	if !ok || o.kind != custom || o.has(name) || name == "count" || name == "length" || f.strictness() < 2 {
		return nil
	}
	return raise(noPropertyException, "The property '"+name+"' cannot be found on this object. "+
		"Verify that the property exists.")
}

// outside is the error of an index that a list does not have, under Set-StrictMode.
func (f *frame) outside(of, at value) error {
	items, ok := of.([]value)
	if l, isList := of.(*arrayList); isList {
		items, ok = l.items, true
	}
	if _, several := at.([]value); !ok || several || f.strictness() < 3 {
		return nil
	}
	if n, err := integer(at); err != nil || n < int64(len(items)) && n >= -int64(len(items)) {
		return nil //nolint:nilerr // it has its own error
	}
	return raise("System.IndexOutOfRangeException", "Index was outside the bounds of the array.")
}

func moduleCmdlets() []cmdlet {
	return []cmdlet{
		{
			name:      "Export-ModuleMember",
			about:     "says which functions of a module can be called from outside",
			run:       exportMembers,
			values:    []string{"function"},
			positions: []string{"function"},
			takes:     "function",
		},
		{
			name:    "Set-StrictMode",
			about:   "makes reading variables, properties and items that are not there an error",
			run:     setStrictMode,
			values:  []string{"version"},
			flags:   []string{"off"},
			allowed: map[string][]string{"version": {"1", "1.0", "2", "2.0", "3", "3.0", "latest"}},
			needs:   []string{"version|off"},
		},
	}
}
