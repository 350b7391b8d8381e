package check

import (
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/absent"
	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/words"
)

func (c *checker) checkPipeline(s *lang.Pipeline) {
	for i := range s.Stages {
		st := &s.Stages[i]
		c.at(st.At.Line())
		if st.X != nil {
			c.check(st.X)
		} else {
			c.command(st, i > 0)
		}

		for _, r := range st.Others {
			if r.File != nil {
				c.check(r.File)
			}
		}

		if st.File != nil {
			c.check(st.File)
			path, _ := lang.Beginning(st.File)
			if err := binding.BadTarget(path); err != nil {
				c.lack("%v", err)
			}
		}
	}
}

// reads lists a variable that is read and not there.
func (c *checker) reads(name string) {
	if slices.Contains(absent.Missing(), name) {
		c.lack("the automatic variable $%s is %s", name, words.NotHere)
	}
}

// command checks that a command exists, and its parameters.
func (c *checker) command(s *lang.Stage, piped bool) {
	c.check(s.Name)
	for _, a := range s.Args {
		if a.X != nil {
			c.check(a.X)
		}
	}

	word := s.Word
	if name, whole := lang.Beginning(s.Name); whole {
		word = name
	}

	low := strings.ToLower(word)
	cmd, ok := c.cmdlets.Lookup(low)
	if low == "" || c.functions[low] {
		return
	}

	if !ok {
		if err := absent.Unknown(word); err != nil && (!c.sources || !absent.Cmdlet(word)) {
			c.lack("%v", err)
		}
		return
	}

	c.sources = c.sources || cmd.Name == "Import-Module"
	if err := checkCall(cmd, s.Args, piped); err != nil {
		c.lack("%v", err)
		return
	}
	c.listed(cmd, s.Args)
}

// listed lists the values of parameters that are not here, but for names of types that the script defines.
func (c *checker) listed(cmd cmdlet.Cmdlet, args []lang.Argument) {
	b, err := binding.Bind(cmd, args)
	if err != nil {
		return
	}

	if cmd.Defines != nil {
		c.defines(cmd, b)
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if cmd.Lists == nil {
			continue
		}
		for _, x := range b[name] {
			s, whole := lang.Beginning(x)
			if !whole || c.types[words.TypeName(s)] {
				continue
			}
			if err := cmd.Lists(name, s); err != nil {
				c.lack("%v", err)
			}
		}
	}
}

// defines looks at the types that a call defines, as far as its parameters are known before the run.
func (c *checker) defines(cmd cmdlet.Cmdlet, b binding.Bound) {
	known := map[string]string{}
	for name, given := range b {
		var texts []string
		for _, x := range given {
			text, whole := lang.Beginning(x)
			if v, is := x.(*lang.Variable); is && !v.Env {
				text, whole = c.texts[v.Name]
			}
			if !whole {
				texts = nil
				break
			}
			texts = append(texts, text)
		}
		if texts != nil {
			known[name] = strings.Join(texts, "\n")
		}
	}

	types, err := cmd.Defines(known)
	if err != nil {
		c.lack("%v", err)
	}
	for _, name := range types {
		c.types[words.TypeName(name)] = true
	}
}

// checkCall refuses a call with parameters that are not there. If some are in a variable, @name, only those that are
// written are known.
func checkCall(c cmdlet.Cmdlet, args []lang.Argument, piped bool) error {
	if binding.Splats(args) {
		for _, a := range args {
			if _, _, err := c.Parameter(a.Param); a.Param != "" && err != nil {
				return err
			}
		}
		return nil
	}
	b, err := binding.Bind(c, args)
	if err != nil {
		return err
	}
	return binding.Verify(c, b, piped)
}
