package module

import (
	"os"
	"slices"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
)

// Data reads the hash table of a .psd1 file. What is more than data in it is an error, and so is what is no PowerShell
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_data_files).
func Data(path string) (*lang.HashLiteral, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, provider.Because(path, err)
	}
	script, err := lang.Parse(provider.ScriptText(text), path, dotnet.KnownType)
	if err != nil {
		return nil, err
	}

	table, isTable := onlyExpression(script.Body).(*lang.HashLiteral)
	if !isTable || script.Sections || len(script.Params) > 0 || !isData(table) {
		return nil, &object.Exception{
			Class:    "System.InvalidOperationException",
			ID:       "CouldNotParseAsPowerShellDataFile",
			Category: "InvalidData",
			Target:   path,
			Message:  "The file '" + path + "' could not be parsed as a PowerShell Data File.",
		}
	}

	return table, nil
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
