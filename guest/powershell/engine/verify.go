package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/absent"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
)

// verifyKeys is RefusesKey for what is known before the script runs.
func verifyKeys(c cmdlet.Cmdlet, b bound) error {
	for _, name := range []string{cmdlet.PathName, cmdlet.LiteralName} {
		for _, x := range b[name] {
			paths := []lang.Expr{x}
			if l, ok := x.(*lang.List); ok {
				paths = l.Items
			}
			for _, p := range paths {
				s, _ := lang.Beginning(p)
				if err := c.RefusesKey(s, name == cmdlet.PathName, slices.Sorted(maps.Keys(b))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// verify refuses a call of a cmdlet that cannot be carried out, as far as this is known before the parameters are
// evaluated.
func verify(c cmdlet.Cmdlet, b bound, piped bool) error {
	if err := verifyGiven(c, b, piped); err != nil {
		return err
	}
	if err := verifyKeys(c, b); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		for _, x := range b[name] {
			if slices.Contains(pathParameters(), name) {
				if err := verifyPath(c, x, name); err != nil {
					return err
				}
			}
			if s, whole := lang.Beginning(x); whole {
				if name == "scriptblock" {
					return fmt.Errorf("-%s of %s that is no script block is not part of Mullion's PowerShell",
						name, c.Name)
				}
				if err := permits(c, name, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pathParameters are the parameters that are paths.
func pathParameters() []string {
	return []string{cmdlet.PathName, cmdlet.LiteralName, "destination", "destinationpath", "filepath"}
}

// verifyGiven refuses parameters that are missing, or too many.
func verifyGiven(c cmdlet.Cmdlet, b bound, piped bool) error {
	given := func(name string) bool {
		return b[name] != nil || (name == cmdlet.PathName && b[cmdlet.LiteralName] != nil)
	}
	takes := "" // the first of those that take the pipeline and have no value
	for name := range strings.SplitSeq(c.Takes, "|") {
		if takes == "" && !given(name) {
			takes = name
		}
	}
	switch {
	case piped && c.Takes == "":
		return fmt.Errorf("a pipeline into %s is not part of Mullion's PowerShell", c.Name)
	case piped && takes == "":
		return fmt.Errorf("-%s of %s together with a pipeline is not part of Mullion's PowerShell",
			strings.ReplaceAll(c.Takes, "|", " and -"), c.Name)
	case b["confirm"] != nil && !isFalse(b["confirm"][0]):
		return fmt.Errorf("-Confirm of %s other than -Confirm:$false is not part of Mullion's PowerShell", c.Name)
	case b[cmdlet.PathName] != nil && b[cmdlet.LiteralName] != nil:
		return fmt.Errorf("-Path and -LiteralPath of %s exclude each other", c.Name)
	}
	for _, need := range c.Needs {
		names := strings.Split(need, "|")
		if !slices.ContainsFunc(names, given) && (!piped || !slices.Contains(names, takes)) {
			return fmt.Errorf("%s needs -%s", c.Name, strings.Join(names, " or -"))
		}
	}
	return nil
}

// isFalse reports whether an expression is $false as it is written.
func isFalse(x lang.Expr) bool {
	v, ok := x.(*lang.Variable)
	return ok && v.Name == "false"
}

// verifyPath refuses a path that is known to be none that the cmdlet knows, or to have wild cards that the cmdlet does
// not carry out.
func verifyPath(c cmdlet.Cmdlet, x lang.Expr, name string) error {
	if l, ok := x.(*lang.List); ok {
		for _, item := range l.Items {
			if err := verifyPath(c, item, name); err != nil {
				return err
			}
		}
		return nil
	}
	s, whole := lang.Beginning(x)
	err := c.RefusesPath(s, whole)
	switch {
	case err != nil:
		return err
	case !whole || name == "literalpath" || name == "path" && c.Wild:
		return nil
	case provider.HasWildcard(s):
		return fmt.Errorf("wild cards in -%s of %s are not part of Mullion's PowerShell", name, c.Name)
	}
	return nil
}

// permits refuses a value that a parameter cannot have.
func permits(c cmdlet.Cmdlet, name, v string) error {
	switch name {
	case cmdlet.ErrorAction:
		return checkPreference(cmdlet.ErrorAction, v)
	case cmdlet.ErrorVariable, cmdlet.OutVariable:
		return badVariable(v)
	}
	if allowed, ok := c.Allowed[name]; ok && !slices.Contains(allowed, strings.ToLower(v)) {
		return fmt.Errorf("-%s %s of %s is not part of Mullion's PowerShell", name, v, c.Name)
	}
	if c.Refuses != nil {
		return c.Refuses(name, v)
	}
	return nil
}

// badTarget refuses a path to which output cannot be written.
func badTarget(path string) error {
	if _, environment := provider.EnvironmentItem(path); environment {
		return errors.New("a redirection to the drive env: is not part of Mullion's PowerShell")
	}
	return provider.BadPath(path)
}

// command checks that a command exists, and its parameters.
func (c *checker) command(s *lang.Stage, piped bool) {
	c.check(s.Name)
	for _, a := range s.Args {
		if a.X != nil {
			c.check(a.X)
		}
	}
	word := s.Word
	if name, whole := lang.Beginning(s.Name); whole {
		word = name
	}
	low := strings.ToLower(word)
	cmd, ok := c.cmdlets.Lookup(low)
	if low == "" || c.functions[low] {
		return
	}
	if !ok {
		if err := absent.Unknown(word); err != nil && (!c.sources || !absent.Cmdlet(word)) {
			c.lack("%v", err)
		}
		return
	}
	c.sources = c.sources || cmd.Name == "Import-Module"
	if err := checkCall(cmd, s.Args, piped); err != nil {
		c.lack("%v", err)
		return
	}
	c.listed(cmd, s.Args)
}

// checkCall refuses a call with parameters that are not there. If some are in a variable, @name, only those that are
// written are known.
func checkCall(c cmdlet.Cmdlet, args []lang.Argument, piped bool) error {
	if splats(args) {
		for _, a := range args {
			if _, _, err := c.Parameter(a.Param); a.Param != "" && err != nil {
				return err
			}
		}
		return nil
	}
	b, err := bind(c, args)
	if err != nil {
		return err
	}
	return verify(c, b, piped)
}

// listed lists the values of parameters that are not here, but for names of types that the script defines.
func (c *checker) listed(cmd cmdlet.Cmdlet, args []lang.Argument) {
	b, err := bind(cmd, args)
	if err != nil || cmd.Lists == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		for _, x := range b[name] {
			s, whole := lang.Beginning(x)
			if !whole || c.types[words.TypeName(s)] {
				continue
			}
			if err := cmd.Lists(name, s); err != nil {
				c.lack("%v", err)
			}
		}
	}
}
