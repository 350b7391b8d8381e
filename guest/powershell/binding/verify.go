package binding

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/provider"
)

// verifyKeys does as RefusesKey for what is known before the script runs.
func verifyKeys(c cmdlet.Cmdlet, b Bound) error {
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

// Verify refuses a call of a cmdlet that cannot be carried out, as far as this is known before the parameters are
// evaluated.
func Verify(c cmdlet.Cmdlet, b Bound, piped bool) error {
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
				if err := Permits(c, name, s); err != nil {
					return err
				}
			}
		}
	}

	return nil
}

// pathParameters returns the parameters that are paths.
func pathParameters() []string {
	return []string{cmdlet.PathName, cmdlet.LiteralName, "destination", "destinationpath", "filepath"}
}

// verifyGiven refuses parameters that are missing, or too many.
func verifyGiven(c cmdlet.Cmdlet, b Bound, piped bool) error {
	takes := b.fed(c)
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
		if !slices.ContainsFunc(names, b.has) && (!piped || !slices.Contains(names, takes)) {
			return fmt.Errorf("%s needs -%s", c.Name, strings.Join(names, " or -"))
		}
	}

	return nil
}

// fed returns the first of the parameters that take the pipeline and have no value, "" if there is none.
func (b Bound) fed(c cmdlet.Cmdlet) string {
	for name := range strings.SplitSeq(c.Takes, "|") {
		if !b.has(name) {
			return name
		}
	}
	return ""
}

// has reports whether a parameter is given, or the other one of a path.
func (b Bound) has(name string) bool {
	return b[name] != nil || (name == cmdlet.PathName && b[cmdlet.LiteralName] != nil)
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
	case !whole || name == "literalpath" || (name == "path" && c.Wild):
		return nil
	case provider.HasWildcard(s):
		return fmt.Errorf("wild cards in -%s of %s are not part of Mullion's PowerShell", name, c.Name)
	}

	return nil
}

// Permits refuses a value that a parameter cannot have.
func Permits(c cmdlet.Cmdlet, name, v string) error {
	switch name {
	case cmdlet.ErrorAction:
		return CheckPreference(cmdlet.ErrorAction, v)
	case cmdlet.ErrorVariable, cmdlet.OutVariable:
		return BadVariable(v)
	}
	if allowed, ok := c.Allowed[name]; ok && !slices.Contains(allowed, strings.ToLower(v)) {
		return fmt.Errorf("-%s %s of %s is not part of Mullion's PowerShell", name, v, c.Name)
	}
	if c.Refuses != nil {
		return c.Refuses(name, v)
	}
	return nil
}

// BadTarget refuses a path to which output cannot be written. The path has no drive of the script any more.
func BadTarget(path string) error {
	if _, environment := provider.EnvironmentItem(path); environment {
		return errors.New("a redirection to the drive env: is not part of Mullion's PowerShell")
	}
	return provider.BadPath(path)
}
