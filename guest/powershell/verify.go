package powershell

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// verify refuses a call of a cmdlet that cannot be carried out, as far as this is known before the parameters are
// evaluated.
func (c cmdlet) verify(b bound, piped bool) error {
	if err := c.verifyGiven(b, piped); err != nil {
		return err
	}
	if err := c.verifyKeys(b); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		for _, x := range b[name] {
			if slices.Contains(pathParameters(), name) {
				if err := c.verifyPath(x, name); err != nil {
					return err
				}
			}
			if s, whole := beginning(x); whole {
				if name == "scriptblock" {
					return fmt.Errorf("-%s of %s that is no script block is not part of Mullion's PowerShell", name,
						c.name)
				}
				if err := c.permits(name, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pathParameters are the parameters that are paths.
func pathParameters() []string {
	return []string{pathName, literalName, "destination", "destinationpath", "filepath"}
}

// verifyGiven refuses parameters that are missing, or too many.
func (c cmdlet) verifyGiven(b bound, piped bool) error {
	given := func(name string) bool { return b[name] != nil || (name == pathName && b[literalName] != nil) }
	takes := "" // the first of those that take the pipeline and have no value
	for name := range strings.SplitSeq(c.takes, "|") {
		if takes == "" && !given(name) {
			takes = name
		}
	}
	switch {
	case piped && c.takes == "":
		return fmt.Errorf("a pipeline into %s is not part of Mullion's PowerShell", c.name)
	case piped && takes == "":
		return fmt.Errorf("-%s of %s together with a pipeline is not part of Mullion's PowerShell",
			strings.ReplaceAll(c.takes, "|", " and -"), c.name)
	case b["confirm"] != nil && !isFalse(b["confirm"][0]):
		return fmt.Errorf("-Confirm of %s other than -Confirm:$false is not part of Mullion's PowerShell", c.name)
	case b[pathName] != nil && b[literalName] != nil:
		return fmt.Errorf("-Path and -LiteralPath of %s exclude each other", c.name)
	}
	for _, need := range c.needs {
		names := strings.Split(need, "|")
		if !slices.ContainsFunc(names, given) && (!piped || !slices.Contains(names, takes)) {
			return fmt.Errorf("%s needs -%s", c.name, strings.Join(names, " or -"))
		}
	}
	return nil
}

// isFalse reports whether an expression is $false as it is written.
func isFalse(x expr) bool {
	v, ok := x.(*variable)
	return ok && v.name == "false"
}

// verifyPath refuses a path that is known to be none that the cmdlet knows, or to have wild cards that the cmdlet does
// not carry out.
func (c cmdlet) verifyPath(x expr, name string) error {
	if l, ok := x.(*list); ok {
		for _, item := range l.items {
			if err := c.verifyPath(item, name); err != nil {
				return err
			}
		}
		return nil
	}
	s, whole := beginning(x)
	err := c.refusesPath(s, whole)
	switch {
	case err != nil:
		return err
	case !whole || name == "literalpath" || name == "path" && slices.Contains(wildCards(), c.name):
		return nil
	case hasWildcard(s):
		return fmt.Errorf("wild cards in -%s of %s are not part of Mullion's PowerShell", name, c.name)
	}
	return nil
}

// permits refuses a value that a parameter cannot have.
func (c cmdlet) permits(name, v string) error {
	switch name {
	case common:
		return checkPreference(common, v)
	case errorVariable, outVariable:
		return badVariable(v)
	}
	if allowed, ok := c.allowed[name]; ok && !slices.Contains(allowed, lower(v)) {
		return fmt.Errorf("-%s %s of %s is not part of Mullion's PowerShell", name, v, c.name)
	}
	if name == "typename" && c.name == "New-Object" {
		return permitsType(v)
	}
	if name == "name" && c.name == "Import-Module" {
		return knownModule(v)
	}
	return nil
}

// beginning returns the part of a string that is known before the script runs: its text up to the first variable, and
// whether that is the whole.
func beginning(x expr) (s string, whole bool) {
	switch x := x.(type) {
	case *literal:
		return text(x.v), true
	case *template:
		if l, ok := x.parts[0].(*literal); ok {
			return text(l.v), len(x.parts) == 1
		}
	}
	return "", false
}

// badTarget refuses a path to which output cannot be written.
func badTarget(path string) error {
	if _, environment := environmentItem(path); environment {
		return errors.New("a redirection to the drive env: is not part of Mullion's PowerShell")
	}
	return badPath(path)
}

// command checks that a command exists, and its parameters.
func (c *checker) command(s *stage, piped bool) {
	s.name.check(c)
	for _, a := range s.args {
		if a.x != nil {
			a.x.check(c)
		}
	}
	word := s.word
	if name, whole := beginning(s.name); whole {
		word = name
	}
	low := lower(word)
	cmd, ok := lookup(low)
	if low == "" || c.functions[low] {
		return
	}
	if !ok {
		if err := unknown(word); err != nil && (!c.sources || !cmdletName.MatchString(word)) {
			c.lack("%v", err)
		}
		return
	}
	c.sources = c.sources || cmd.name == "Import-Module"
	if err := cmd.checkCall(s.args, piped); err != nil {
		c.lack("%v", err)
	}
}

// checkCall refuses a call with parameters that are not there. If some are in a variable, @name, only those that are
// written are known.
func (c cmdlet) checkCall(args []argument, piped bool) error {
	if splats(args) {
		for _, a := range args {
			if _, _, err := c.parameter(a.param); a.param != "" && err != nil {
				return err
			}
		}
		return nil
	}
	b, err := c.bind(args)
	if err != nil {
		return err
	}
	return c.verify(b, piped)
}

// unknown refuses a command of PowerShell that is not implemented. All other words are programs.
func unknown(word string) error {
	switch {
	case cmdletName.MatchString(word):
		return fmt.Errorf("the cmdlet %s is not part of Mullion's PowerShell", word)
	case strings.Contains(aliases, " "+lower(word)+" "):
		return fmt.Errorf("%s, a name of a cmdlet, is not part of Mullion's PowerShell", word)
	}
	return nil
}
