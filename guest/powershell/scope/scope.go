package scope

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// Host is the interpreter, as far as names need it.
type Host interface {
	// Own returns a variable of PowerShell's own. SetOwn sets one, and reports whether name is one that lies there.
	Own(name string) (v object.Value, there bool)
	SetOwn(name string, v object.Value) bool
	// Converted returns a value converted to a type, which a script may have defined.
	Converted(to string, v object.Value) (object.Value, error)
	SetEnvironment(name, v string)
	// Read reads a text as a script block.
	Read(text string) (*object.ScriptBlock, error)
}

// Session is what the scopes of a session share.
type Session struct {
	Host    Host
	Top     *Scope // the outermost, $global:
	Cmdlets cmdlet.Table
	aliases map[string]string // that the session has made, by their names in lower case
}

// Scope is a scope of variables and functions. Names are in lower case.
type Scope struct {
	Session   *Session
	Vars      map[string]object.Value
	Types     map[string]string // of variables that have one
	Functions map[string]*lang.Script
	Parent    *Scope
	File      bool    // it is the outermost of a script file or module: $script:x
	Module    *Module // of a module's, or nil
	strict    *int    // the level of Set-StrictMode here, nil: that of the parent
}

// Module is a module of a file, while and after it runs: the patterns of what its Export-ModuleMember names.
type Module struct {
	Exported  []string
	Variables []string
	Chosen    bool // Export-ModuleMember was called
}

// New returns the outermost scope of a session.
func New(host Host, cmdlets cmdlet.Table) *Scope {
	s := &Session{
		Host:    host,
		Cmdlets: cmdlets,
		aliases: map[string]string{},
	}
	s.Top = (&Scope{Session: s}).Child()
	s.Top.Parent = nil
	return s.Top
}

// Child returns a new scope within this one.
func (s *Scope) Child() *Scope {
	return &Scope{
		Session:   s.Session,
		Vars:      map[string]object.Value{},
		Types:     map[string]string{},
		Functions: map[string]*lang.Script{},
		Parent:    s,
	}
}

// Here returns the scope: what a cmdlet asks of the scope that calls it.
func (s *Scope) Here() *Scope { return s }

// of returns the scope in which a cmdlet is called.
func of(c *cmdlet.Call) *Scope { return c.Scope.(interface{ Here() *Scope }).Here() }

// Function finds a function of this scope or of one around it.
func (s *Scope) Function(name string) (*lang.Script, bool) {
	for ; s != nil; s = s.Parent {
		if fn, ok := s.Functions[name]; ok {
			return fn, true
		}
	}

	return nil, false
}

// FunctionNames returns the names of the functions that can be called.
func (s *Scope) FunctionNames() map[string]bool {
	names := map[string]bool{}
	for ; s != nil; s = s.Parent {
		for name := range s.Functions {
			names[name] = true
		}
	}

	return names
}

// variableNames returns the names of the variables that can be read, without PowerShell's own.
func (s *Scope) variableNames() map[string]bool {
	names := map[string]bool{}
	for ; s != nil; s = s.Parent {
		for name := range s.Vars {
			names[name] = true
		}
	}

	return names
}

// Named returns the scope that a name before a colon means: $global:x, $script:x, $local:x.
func (s *Scope) Named(name string) *Scope {
	switch name {
	case "global":
		return s.Session.Top
	case "script":
		for at := s; at != nil; at = at.Parent {
			if at.File {
				return at
			}
		}
		return s.Session.Top
	}

	return s
}

// OfModule returns the scope of the module whose code runs, nil outside of one.
func (s *Scope) OfModule() *Scope {
	for ; s != nil; s = s.Parent {
		if s.Module != nil {
			return s
		}
	}

	return nil
}

// Get returns the value of a variable of this scope or one around it, $null if it is not there.
func (s *Scope) Get(name string) object.Value {
	v, _ := s.Find(name)
	return v
}

// Find finds a variable of this scope or one around it, or one of PowerShell's own.
func (s *Scope) Find(name string) (v object.Value, there bool) {
	if home := s.with(name); home != nil {
		return home.Vars[name], true
	}
	return s.Session.Host.Own(name)
}

// Holder returns the scope that has a variable, nil if none has it.
func (s *Scope) Holder(v lang.Variable) *Scope {
	if v.Scope == "" {
		return s.with(v.Name)
	}
	if named := s.Named(v.Scope); named.has(v.Name) {
		return named
	}
	return nil
}

// with returns the innermost scope that has a variable, nil if none has it.
func (s *Scope) with(name string) *Scope {
	for ; s != nil; s = s.Parent {
		if s.has(name) {
			return s
		}
	}

	return nil
}

func (s *Scope) has(name string) bool {
	_, there := s.Vars[name]
	return there
}

// Assign sets a variable of this scope, or one of the environment. Setting $null has no effect.
func (s *Scope) Assign(to lang.Variable, v object.Value) error {
	if d := s.Drive(to.Scope); d != nil {
		return d.Set(to.Name, v)
	}
	if to.Scope != "" {
		return s.Named(to.Scope).Assign(lang.Variable{Name: to.Name}, v)
	}
	if to.Env {
		s.Session.Host.SetEnvironment(to.Name, object.Text(v))
		return nil
	}
	if err := binding.Assignable(to.Name); err != nil {
		return err
	}

	if _, ok := binding.Preferences()[to.Name]; ok {
		if err := binding.CheckPreference(to.Name, v); err != nil {
			return object.Thrown("%v.", err)
		}
		if s == s.Session.Top { // elsewhere it is a variable like others
			v, _ = object.PreferenceType().Parsed(object.Plain(v))
		}
	}

	if of := s.Types[to.Name]; of != "" {
		var err error
		if v, err = s.Session.Host.Converted(of, v); err != nil {
			return err
		}
	}

	switch {
	case to.Name == "null":
	case s == s.Session.Top && s.Session.Host.SetOwn(to.Name, v):
	default:
		s.Vars[to.Name] = v
	}

	return nil
}

// SetNamed sets a variable whose name is known only now.
func (s *Scope) SetNamed(name string, v object.Value) error {
	if err := binding.Assignable(strings.ToLower(name)); err != nil {
		return object.Thrown("%v.", err)
	}
	return s.Assign(lang.Variable{Name: strings.ToLower(name)}, v)
}
