package engine

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/scope"
)

// unset returns the error of reading a variable that is not there, under Set-StrictMode.
func (f *frame) unset(v lang.Variable) error {
	if f.Strictness() < 1 || v.Env {
		return nil
	}
	return &object.Exception{
		Class:    object.RuntimeException,
		ID:       "VariableIsUndefined",
		Category: object.InvalidOperating,
		Target:   v.Name,
		Message:  "The variable '$" + v.Name + "' cannot be retrieved because it has not been set.",
	}
}

// absent returns the error of reading a property that an object does not have, under Set-StrictMode.
func (f *frame) absent(of object.Value, written string) error {
	name := strings.ToLower(written)
	if f.Strictness() < 2 || name == "count" || name == "length" || !lacks(of, name) {
		return nil
	}
	return &object.Exception{
		Class:   object.NoPropertyException,
		ID:      object.NoPropertyID,
		Message: "The property '" + written + "' cannot be found on this object. Verify that the property exists.",
	}
}

// lacks reports whether a value is known not to have a property.
func lacks(of object.Value, name string) bool {
	switch o := of.(type) {
	case nil:
		return true
	case *object.Object:
		return o.Kind == object.Custom && !o.Has(name)
	case *object.Hashtable:
		v, err := object.Property(o, name) // a key's value, or what all tables have
		return err == nil && v == nil && !o.Has(name)
	}
	return false
}

// outside returns the error of an index that a list does not have, under Set-StrictMode.
func (f *frame) outside(of, at object.Value) error {
	items, ok := of.([]object.Value)
	if l, isList := of.(*object.ArrayList); isList {
		items, ok = l.Items, true
	}
	if _, several := at.([]object.Value); !ok || several || f.Strictness() < 3 {
		return nil
	}
	if n, err := object.Integer(at); err != nil || (n < int64(len(items)) && n >= -int64(len(items))) {
		return nil //nolint:nilerr // it has its own error
	}
	return object.Raise("System.IndexOutOfRangeException", "Index was outside the bounds of the array.")
}

// Cmdlets returns the cmdlets that work on the script itself: its scopes and modules.
func Cmdlets() []cmdlet.Cmdlet {
	return slices.Concat(moduleCmdlets(), scope.Cmdlets())
}

func moduleCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Invoke-Expression",
			Aliases:   []string{"iex"},
			About:     "runs a text as a script, which is refused like one",
			Run:       invokeExpression,
			Values:    []string{"command"},
			Positions: []string{"command"},
			Takes:     "command",
			Needs:     []string{"command"},
		},
		{
			Name:      "Invoke-History",
			Aliases:   []string{"ihy", "r"},
			About:     "runs a command of the history again: the last one, that of a number, or the last that begins so",
			Run:       invokeHistory,
			Values:    []string{"id"},
			Positions: []string{"id"},
			Takes:     "id",
		},
		{
			Name:      "Export-ModuleMember",
			About:     "says which functions of a module can be called from outside",
			Run:       exportMembers,
			Values:    []string{"function", "alias", "variable"},
			Positions: []string{"function"},
			Takes:     "function",
		},
		{
			Name:      "Get-Module",
			Aliases:   []string{"gmo"},
			About:     "the modules of files that are imported, or those in the folders of modules",
			Run:       getModule,
			Values:    []string{"name"},
			Flags:     []string{"listavailable"},
			Positions: []string{"name"},
			Takes:     "name",
		},
		{
			Name:      "Remove-Module",
			Aliases:   []string{"rmo"},
			About:     "takes away the functions of modules",
			Run:       removeModule,
			Values:    []string{"name"},
			Flags:     []string{"force"},
			Positions: []string{"name"},
			Takes:     "name",
			Needs:     []string{"name"},
		},
		{
			Name:      "Import-PowerShellDataFile",
			About:     "the hash table of a .psd1 file, which may have nothing but data",
			Run:       importDataFile,
			Values:    []string{"path", "literalpath"},
			Positions: []string{"path"},
			Takes:     "path",
			Needs:     []string{"path"},
		},
	}
}
