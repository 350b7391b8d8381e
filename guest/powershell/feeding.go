package powershell

import "errors"

// feed is what a function, block or script file gets from the pipeline.
type feed struct {
	items []value
	piped bool // it stands after a |
}

// sections reads begin { … }, process { … } and end { … }, if the script has them instead of statements.
func (p *parser) sections(s *Script) error {
	seen := map[string]bool{}
	for {
		p.space()
		for p.take(";") {
			p.space()
		}
		word := p.keyword("begin", "process", "end", "dynamicparam")
		if word == "" {
			return nil
		}
		if seen[word] {
			return p.refuse("DuplicateScriptCommandClause", "Script command clause '%s' has already been defined.", word)
		}
		seen[word] = true
		p.space()
		b, err := p.braces()
		if err != nil {
			return err
		}
		s.sections = true
		switch word {
		case "begin":
			s.begin = b
		case "process":
			s.process = b
		case "dynamicparam":
			s.lacking = append(s.lacking, word)
		default:
			s.body = b
		}
	}
}

// fromPipeline are the parameters that take objects of the pipeline, and have no value yet.
func (s *Script) fromPipeline(given map[string]bool) []param {
	var all []param
	for _, p := range s.params {
		if (p.piped || p.pipedName) && !given[p.name] {
			all = append(all, p)
		}
	}
	return all
}

// take gives parameters their values of one object of the pipeline.
func (f *frame) take(params []param, item value) error {
	for _, p := range params {
		v, ok := item, p.piped
		if p.pipedName {
			for _, name := range append([]string{p.name}, p.aliases...) {
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

// propertyOf is a property that an object has for -Name parameters of a pipeline.
func propertyOf(item value, name string) (v value, has bool) {
	switch o := item.(type) {
	case *object:
		v, has = o.props[name]
		return v, has
	case *instance:
		if findField(o.of.props, name) == nil {
			return nil, false
		}
		v, err := property(o, name)
		return v, err == nil
	}
	return nil, false
}

// run runs the script's statements in a scope: begin, process for each object of the pipeline, end. A return ends one
// of them.
func (s *Script) run(f *frame, fed []param, in feed, out *sink) error {
	one := func(name string, b block) error {
		f.in.inSection(s, name)
		err := b.run(f, out)
		if left, ok := errors.AsType[*leaving](err); ok && left.word == "return" && s.sections {
			return nil
		}
		return err
	}
	if err := one("Begin", s.begin); err != nil {
		return err
	}
	items := in.items
	if !in.piped && s.process != nil {
		items = []value{nil}
	}
	for _, item := range items {
		if in.piped {
			if err := f.take(fed, item); err != nil {
				return err
			}
		}
		if s.process == nil {
			continue
		}
		if in.piped {
			f.vars["_"], f.vars["input"] = item, []value{item}
		}
		if err := one("Process", s.process); err != nil {
			return err
		}
	}
	if in.piped {
		f.vars["input"] = items
		if s.process != nil {
			f.vars["input"] = []value{}
		}
	}
	return one("End", s.body)
}

// invocation is $MyInvocation in a function, block or file.
func invocation(s *Script) *object {
	name, kind := s.name, "Function"
	switch {
	case s.file != "":
		name, kind = fileName(s.file), "ExternalScript"
	case name == "":
		kind = "Script"
	}
	of := newObject("command").set("CommandType", kind).set("Name", name).set("Version", "").set("Source", s.file)
	of.props["definition"], of.props["displayname"], of.props["path"] = s.text, name, nil
	if s.file != "" {
		of.props["definition"], of.props["path"] = s.file, s.file
	}
	return newObject("invocation").set("MyCommand", of).set("InvocationName", name)
}
