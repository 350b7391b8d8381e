package format

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

// KeyKind is the kind of the objects that are keys of the registry.
const KeyKind = "registry key"

// ShownValues is the hidden property of a key with the object of its values, for showing it.
const ShownValues = "the values of a key"

// Provider is the beginning of the paths of keys in objects.
const Provider = `Microsoft.PowerShell.Core\Registry`

// keyRow is a row of the table of keys.
const keyRow = "%-30s %s"

// key shows a key: its name, and its values below each other.
func (f *Formatter) key(o *object.Object) error {
	var lines []string
	above := strings.TrimPrefix(object.Text(o.Props["psparentpath"]), Provider+"::")
	if f.kind != KeyKind || f.dir != above {
		f.End()
		f.kind, f.dir = KeyKind, above
		lines = append(lines, "", "    Hive: "+above, "", fmt.Sprintf(keyRow, "Name", "Property"),
			fmt.Sprintf(keyRow, "----", "--------"))
	}

	values, _ := o.Props[ShownValues].(*object.Object)
	width := 0
	for _, name := range values.Names {
		width = max(width, len(name))
	}

	name := object.Text(o.Props["pschildname"])
	for _, v := range values.Names {
		shown := fmt.Sprintf("%-*s : %s", width, v, listValue(values.Props[strings.ToLower(v)]))
		lines = append(lines, fmt.Sprintf(keyRow, name, shown))
		name = ""
	}

	if len(values.Names) == 0 {
		lines = append(lines, name)
	}
	for _, l := range lines {
		if err := f.line(l); err != nil {
			return err
		}
	}

	return nil
}
