package utility

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// forEachBlocks returns the blocks of ForEach-Object: begin, those of process, and end. Of several without a name the
// first is begin and the last, of three or more, end
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/foreach-object).
func forEachBlocks(c *cmdlet.Call) (begin object.Value, process []object.Value, end object.Value) {
	process = slices.Collect(object.Each(c.Values["process"]))
	for v := range object.Each(c.Values["remainingscripts"]) {
		process = append(process, v)
	}

	begin, end = c.Values["begin"], c.Values["end"]
	if _, isBlock := object.One(process[:min(1, len(process))]).(*object.ScriptBlock); !isBlock || len(process) < 2 {
		return begin, process, end
	}

	if begin == nil {
		begin, process = process[0], process[1:]
	}
	if end == nil && len(process) > 1 {
		end, process = process[len(process)-1], process[:len(process)-1]
	}

	return begin, process, end
}

// runBlock runs a block of ForEach-Object, if it is one.
func runBlock(c *cmdlet.Call, v, item object.Value) error {
	b, ok := v.(*object.ScriptBlock)
	if !ok {
		if v == nil {
			return nil
		}
		return object.Thrown("%s : a script block is missing.", c.Name)
	}
	return c.WithBlock(b, item, c.Out)
}

func forEachBegin(c *cmdlet.Call) error {
	begin, _, _ := forEachBlocks(c)
	return runBlock(c, begin, nil)
}

func forEachEnd(c *cmdlet.Call) error {
	_, _, end := forEachBlocks(c)
	return runBlock(c, end, nil)
}

func forEachObject(c *cmdlet.Call) error {
	_, process, _ := forEachBlocks(c)
	items := c.Input
	if !c.Piped {
		items = slices.Collect(object.Each(c.Values[cmdlet.ObjectName]))
	}

	if len(process) > 0 {
		if name, ok := process[0].(string); ok {
			return members(c, name, append(process[1:], object.Items(c.Values["argumentlist"])...), items)
		}
	}
	if name := c.Text("membername"); name != "" {
		return members(c, name, object.Items(c.Values["argumentlist"]), items)
	}

	for _, item := range items {
		for _, block := range process {
			if err := runBlock(c, block, item); err != nil {
				return err
			}
		}
	}

	return nil
}

// members outputs a property of each object, or what a method of that name returns.
func members(c *cmdlet.Call, name string, args, items []object.Value) error {
	for _, item := range items {
		var v object.Value
		var err error
		class := object.ClassOf(item)
		if len(args) > 0 || hasMethod(class, name) || hasMethod(object.EveryClass(), name) {
			v, err = c.Scope.Method(item, name, args)
		} else {
			v, err = object.Property(item, strings.ToLower(name))
		}
		if err != nil {
			return err
		}

		for one := range object.Each(v) {
			if err := c.Out.Put(one); err != nil {
				return err
			}
		}
	}

	return nil
}

// hasMethod reports whether a class has a method that takes no arguments.
func hasMethod(class *object.Class, name string) bool {
	return class != nil && object.Find(class.Methods, name).Takes(0)
}
