package engine

import (
	"errors"
	"strings"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// frameOf returns the frame in which a cmdlet was called.
func frameOf(c *cmdlet.Call) *frame { return c.Scope.(*frame) }

// scriptOf returns the script of a block.
func scriptOf(b *object.ScriptBlock) *lang.Script { return b.Script.(*lang.Script) }

// newBlock returns a script as a value.
func newBlock(s *lang.Script) *object.ScriptBlock {
	return &object.ScriptBlock{Words: s.Text, Script: s}
}

// What follows is what cmdlets may ask of a frame: cmdlet.Scope says what each is.

func (f *frame) RunOn(cmdlet string, b *object.ScriptBlock, item object.Value, out *object.Sink) error {
	script := scriptOf(b)
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
	before, had := f.vars["_"]
	f.vars["_"] = item
	leave := f.in.Enter(script)
	err = f.runBlock(script.Body, out.Apart())
	f.in.mark(err)
	leave()
	delete(f.vars, "_")
	if had {
		f.vars["_"] = before
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
	return f.in.callScript(f, scriptOf(b), given, Feed{items: input, piped: piped}, out)
}

func (f *frame) RunAs(this object.Value, b *object.ScriptBlock, args []object.Value) (object.Value, error) {
	scope := f.in.within().child()
	scope.vars["this"] = this
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
	for name := range f.functionNames() {
		fn, _ := f.function(name)
		texts[fn.Name] = fn.Text
	}
	return texts
}

func (f *frame) Table() cmdlet.Table { return f.in.cmdlets }

func (f *frame) Succeeded() bool { return f.in.OK }

// SetNamed sets a variable whose name is known only now.
func (f *frame) SetNamed(name string, v object.Value) error {
	if err := binding.Assignable(strings.ToLower(name)); err != nil {
		return object.Thrown("%v.", err)
	}
	return f.assign(lang.Variable{Name: strings.ToLower(name)}, v)
}
