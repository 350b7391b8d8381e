package engine

import (
	"errors"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// frameOf returns the frame in which a cmdlet was called.
func frameOf(c *cmdlet.Call) *frame { return c.Scope.(*frame) }

// What follows is what cmdlets may ask of a frame: cmdlet.Scope says what each is.

func (f *frame) RunOn(cmdlet string, b *object.ScriptBlock, item object.Value, out *object.Sink) error {
	script := lang.ScriptOf(b)
	if script.Sections {
		return object.Thrown("%s : a script block with begin, process or end is not part of Mullion's PowerShell here.", cmdlet)
	}
	if len(script.Params) > 0 {
		return object.Thrown("%s : a script block with parameters is not part of Mullion's PowerShell here.", cmdlet)
	}

	rise, err := f.in.descend()
	if err != nil {
		return err
	}
	defer rise()

	before, had := f.Vars["_"]
	f.Vars["_"] = item

	leave := f.in.Enter(script)
	err = f.runBlock(script.Body, out.Apart())
	f.in.mark(err)
	leave()

	delete(f.Vars, "_")
	if had {
		f.Vars["_"] = before
	}

	if left, ok := errors.AsType[*object.Leaving](err); ok && left.Word == "return" {
		return nil
	}

	return err
}

func (f *frame) RunWith(b *object.ScriptBlock, args, input []object.Value, piped bool, out *object.Sink) error {
	var given []lang.Argument
	for _, v := range args {
		given = append(given, lang.Argument{X: &lang.Literal{V: v}})
	}
	return f.in.callScript(f, lang.ScriptOf(b), given, Feed{items: input, piped: piped}, out)
}

func (f *frame) RunAs(this object.Value, b *object.ScriptBlock, args []object.Value) (object.Value, error) {
	scope := f.in.within().child()
	scope.Vars["this"] = this
	var got []object.Value
	err := scope.RunWith(b, args, nil, false, object.Collect(&got))
	return object.One(got), err
}

func (f *frame) Operate(op string, a, b object.Value) (object.Value, error) {
	return f.binaryOf(&lang.Binary{Op: lang.Caseless(op)}, a, b)
}

func (f *frame) Message(stream rune, what, end string) error { return f.in.message(stream, what, end) }

func (f *frame) Elsewhere(stream rune) bool { return f.in.messages[stream] != nil }

func (f *frame) Show(v object.Value) error { return f.in.Screen.Put(v) }

func (f *frame) Settle() { f.in.Format.End() }

func (f *frame) FunctionTexts() map[string]string {
	texts := map[string]string{}
	for name := range f.FunctionNames() {
		fn, _ := f.Function(name)
		texts[fn.Name] = fn.Text
	}
	return texts
}

func (f *frame) Table() cmdlet.Table { return f.Session.Cmdlets }

func (f *frame) Succeeded() bool { return f.in.OK }
