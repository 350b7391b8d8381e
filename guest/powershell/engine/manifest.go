package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
)

// dataFile returns the hash table of a .psd1 file. What is more than data in it is an error
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_data_files).
func (in *Interpreter) dataFile(path string) (*object.Hashtable, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, provider.Because(path, err)
	}
	script, err := lang.Parse(provider.ScriptText(text), path, dotnet.KnownType)
	if err != nil {
		return nil, late(err)
	}
	x := onlyExpression(script.Body)
	table, isTable := x.(*lang.HashLiteral)
	if !isTable || script.Sections || len(script.Params) > 0 || !isData(table) {
		return nil, &object.Exception{
			Class:    "System.InvalidOperationException",
			ID:       "CouldNotParseAsPowerShellDataFile",
			Category: "InvalidData",
			Target:   path,
			Message:  "The file '" + path + "' could not be parsed as a PowerShell Data File.",
		}
	}
	scope := in.Top.child()
	scope.vars["psscriptroot"] = filepath.Dir(path)
	v, err := scope.value(table)
	if err != nil {
		return nil, err
	}
	t, _ := v.(*object.Hashtable)
	return t, nil
}

// onlyExpression returns the expression that a block is, nil for other blocks.
func onlyExpression(b lang.Block) lang.Expr {
	if len(b) != 1 {
		return nil
	}
	l, ok := b[0].(*lang.Pipeline)
	if !ok || !l.Expression() {
		return nil
	}
	return l.Stages[0].X
}

// isData reports whether an expression is data: values, lists and hash tables, and the few variables that data may
// name.
func isData(x lang.Expr) bool { //nolint:gocyclo // a row for each kind of expression
	all := func(items []lang.Expr) bool {
		return !slices.ContainsFunc(items, func(one lang.Expr) bool { return !isData(one) })
	}
	switch x := x.(type) {
	case *lang.Literal:
		return true
	case *lang.Variable:
		return slices.Contains([]string{"true", "false", "null", "psscriptroot"}, x.Name) && !x.Env && x.Scope == ""
	case *lang.Template:
		return all(x.Parts)
	case *lang.List:
		return all(x.Items)
	case *lang.Unary:
		return isData(x.X)
	case *lang.Binary:
		return isData(x.A) && isData(x.B)
	case *lang.SubExpr:
		return len(x.Body) == 0 || isData(onlyExpression(x.Body))
	case *lang.HashLiteral:
		for _, v := range x.Values {
			if !isData(onlyExpression(lang.Block{v})) {
				return false
			}
		}
		return all(x.Keys) && x.As == ""
	}
	return false
}

// importDataFile is Import-PowerShellDataFile.
func importDataFile(c *cmdlet.Call) error {
	targets, _, err := c.Targets()
	if err != nil {
		return err
	}
	for _, t := range targets {
		table, err := frameOf(c).in.dataFile(t.Full)
		if err != nil {
			return c.Unbound(err)
		}
		if err := c.Out.Put(table); err != nil {
			return err
		}
	}
	return c.ReportMissed()
}

// manifest is what a .psd1 file says of a module
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_module_manifests).
type manifest struct {
	table *object.Hashtable
	path  string
}

// names returns the texts of a key: names or patterns, or of hash tables that name modules.
func (m manifest) names(key string) []string {
	var all []string
	for v := range object.Each(m.table.Get(key)) {
		if t, ok := v.(*object.Hashtable); ok {
			v = t.Get("ModuleName")
		}
		if s := object.Text(v); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// beside returns the path of a file that the manifest names.
func (m manifest) beside(name string) string {
	return filepath.Join(filepath.Dir(m.path), filepath.FromSlash(strings.ReplaceAll(name, `\`, "/")))
}

// exports reports whether the manifest lets a function be exported. Without the key all are.
func (m manifest) exports(name string) (bool, error) {
	if !m.table.Has("FunctionsToExport") {
		return true, nil
	}
	patterns := append(m.names("FunctionsToExport"), m.names("AliasesToExport")...)
	return fitsAny(patterns, name)
}

// fitsAny reports whether a name fits one of several patterns.
func fitsAny(patterns []string, name string) (bool, error) {
	for _, one := range patterns {
		re, err := pattern.Wildcard(one)
		if err != nil || re.MatchString(name) {
			return err == nil, err
		}
	}
	return false, nil
}
