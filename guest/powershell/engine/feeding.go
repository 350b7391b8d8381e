package engine

import (
	"errors"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// Feed is what a function, block or script file gets from the pipeline.
type Feed struct {
	items []object.Value
	piped bool // it stands after a |
}

// fromPipeline returns the parameters that take objects of the pipeline, and have no value yet.
func fromPipeline(s *lang.Script, given map[string]bool) []lang.Param {
	var all []lang.Param
	for _, p := range s.Params {
		if (p.Piped || p.PipedName) && !given[p.Name] {
			all = append(all, p)
		}
	}

	return all
}

// take gives parameters their values of one object of the pipeline.
func (f *frame) take(params []lang.Param, item object.Value) error {
	for _, p := range params {
		v, ok := item, p.Piped
		if p.PipedName {
			for _, name := range append([]string{p.Name}, p.Aliases...) {
				if got, has := propertyOf(item, name); has {
					v, ok = got, true
					break
				}
			}
		}
		if !ok {
			continue
		}
		if err := f.argument(p, v); err != nil {
			return err
		}
	}

	return nil
}

// propertyOf returns a property that an object has for -Name parameters of a pipeline.
func propertyOf(item object.Value, name string) (v object.Value, has bool) {
	switch o := item.(type) {
	case *object.Object:
		v, has = o.Props[name]
		return v, has
	case *object.Instance:
		if object.FindField(o.Of.Props, name) == nil {
			return nil, false
		}
		v, err := object.Property(o, name)
		return v, err == nil
	}

	return nil, false
}

// RunScript runs the script's statements in a scope: begin, process for each object of the pipeline, end. A return ends
// one of them.
func (f *frame) RunScript(s *lang.Script, fed []lang.Param, in Feed, out *object.Sink) error {
	one := func(name string, b lang.Block) error {
		f.in.inSection(s, name)
		err := f.runBlock(b, out)
		if left, ok := errors.AsType[*object.Leaving](err); ok && left.Word == "return" && s.Sections {
			return nil
		}
		return err
	}

	if err := one("Begin", s.Begin); err != nil {
		return err
	}
	items := in.items
	if !in.piped && s.Process != nil {
		items = []object.Value{nil}
	}
	for _, item := range items {
		if in.piped {
			if err := f.take(fed, item); err != nil {
				return err
			}
		}
		if s.Process == nil {
			continue
		}
		if in.piped {
			f.Vars["_"], f.Vars["input"] = item, []object.Value{item}
		}
		if err := one("Process", s.Process); err != nil {
			return err
		}
	}

	if in.piped {
		f.Vars["input"] = items
		if s.Process != nil {
			f.Vars["input"] = []object.Value{}
		}
	}

	return one("End", s.Body)
}

// whole returns the script that nothing calls.
func (in *Interpreter) whole() *object.Invoked {
	by := &object.Invoked{Kind: "Script"}
	if len(in.calls) > 0 {
		by.Text = in.calls[0].script.Text
	}
	return by
}

// invoked returns a call of a script that begins now.
func (in *Interpreter) invoked(s *lang.Script) *object.Invoked {
	by := &object.Invoked{
		Name:    s.Name,
		Command: s.Name,
		Kind:    "Function",
		Text:    s.Text,
		At:      in.here(),
	}
	switch {
	case s.File != "":
		by.Name, by.Command = dotnet.FileName(s.File), dotnet.FileName(s.File)
		by.Kind, by.File = "ExternalScript", s.File
	case s.Name == "":
		by.Kind = "Script"
	}

	return by
}
