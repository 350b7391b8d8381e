package engine

import (
	"errors"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/operator"
	"mullion.dev/mullion/guest/powershell/provider"
)

// runSwitch compares each item of the value with each pattern. break ends the switch, continue goes to the next item.
func (f *frame) runSwitch(s *lang.SwitchStmt, out *object.Sink) error {
	v, err := f.value(s.In)
	if err != nil {
		return err
	}
	if s.File {
		data, err := os.ReadFile(f.in.Path(object.Text(v)))
		if err != nil {
			return provider.Because(object.Text(v), err)
		}
		lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(provider.ScriptText(data), "\r\n", "\n"), "\n"),
			"\n")
		items := make([]object.Value, len(lines))
		for i, line := range lines {
			items[i] = line
		}
		v = items
	}

	before, had := f.Vars["_"]
	defer func() {
		delete(f.Vars, "_")
		if had {
			f.Vars["_"] = before
		}
	}()
	items := slices.Collect(object.Each(object.Plain(v)))
	if v == nil {
		items = []object.Value{nil}
	}
	for _, item := range items {
		err := f.switchOn(s, item, out)
		left, leaves := errors.AsType[*object.Leaving](err)
		switch leaves = leaves && left.For(string(s.Label)); {
		case leaves && left.Word == "break":
			return nil
		case leaves && left.Word == "continue":
			continue
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// switchOn runs the blocks whose patterns fit an item, or that of default.
func (f *frame) switchOn(s *lang.SwitchStmt, item object.Value, out *object.Sink) error {
	fitted, other := false, lang.Block(nil)
	for i, x := range s.Patterns {
		if x == nil {
			other = s.Blocks[i]
			continue
		}
		f.Vars["_"] = item
		yes, err := f.switchFits(s, x, item)
		if err != nil {
			return err
		}
		if !yes {
			continue
		}
		fitted = true
		f.Vars["_"] = item
		if err := f.runBlock(s.Blocks[i], out); err != nil {
			return err
		}
	}

	if fitted || other == nil {
		return nil
	}
	f.Vars["_"] = item
	return f.runBlock(other, out)
}

func (f *frame) switchFits(s *lang.SwitchStmt, x lang.Expr, item object.Value) (bool, error) {
	v, err := f.value(x)
	if err != nil {
		return false, err
	}
	v = object.Plain(v)
	if b, ok := v.(*object.ScriptBlock); ok {
		rise, err := f.in.descend()
		if err != nil {
			return false, err
		}
		defer rise()
		got, err := capture(lang.ScriptOf(b).Body, f, false)
		return object.Truth(object.One(got)), err
	}

	mark := map[bool]string{false: "-", true: "-c"}[s.Exact]
	switch s.How {
	case "wildcard":
		return operator.Compare(mark+"like", object.Text(item), v)
	case "regex":
		yes, err := f.match(mark+"match", object.Text(item), v)
		return object.Truth(yes), err
	}

	if _, isText := v.(string); isText || item == nil {
		return operator.Compare(mark+"eq", v, item)
	}
	return operator.Compare(mark+"eq", item, v)
}
