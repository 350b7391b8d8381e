package utility

import (
	"cmp"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/operator"
)

func whereObject(c *cmdlet.Call) error {
	if _, ok := c.Values["filterscript"].(*object.ScriptBlock); !ok {
		return compared(c)
	}

	for _, item := range c.Input {
		var got []object.Value
		if err := runParameter(c, "filterscript", item, object.Collect(&got)); err != nil {
			return err
		}
		if object.Truth(object.One(got)) {
			if err := c.Out.Put(item); err != nil {
				return err
			}
		}
	}

	return nil
}

// runParameter runs a cmdlet's script block with an object as $_, in the scope of the cmdlet's caller.
func runParameter(c *cmdlet.Call, name string, item object.Value, out *object.Sink) error {
	b, ok := c.Values[name].(*object.ScriptBlock)
	if !ok {
		return object.Thrown("%s : a script block is missing.", c.Name)
	}
	return c.WithBlock(b, item, out)
}

// compared picks objects by a property: Where-Object Name -eq value.
func compared(c *cmdlet.Call) error {
	name := cmp.Or(c.Text("property"), c.Text("filterscript")) // the first position may be either
	if name == "" {
		return object.Thrown("Where-Object : a script block or the name of a property is missing.")
	}

	op, want := "", object.Value(nil)
	for _, o := range operator.Comparisons() {
		if v, ok := c.Values[o]; ok {
			if op != "" {
				return object.Thrown("Where-Object : -%s and %s exclude each other.", o, op)
			}
			op, want = "-"+o, v
		}
	}

	for _, item := range c.Input {
		v, err := object.Property(item, strings.ToLower(name))
		if err != nil {
			return err
		}

		yes := object.Truth(v)
		if op != "" {
			got, err := c.Scope.Operate(op, v, want)
			if err != nil {
				return err
			}
			yes = object.Truth(got)
		}
		if yes {
			if err := c.Out.Put(item); err != nil {
				return err
			}
		}
	}

	return nil
}
