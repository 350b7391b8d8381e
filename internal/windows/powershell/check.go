package powershell

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
)

// checker goes through a script before it runs.
type checker struct {
	functions map[string]bool
	line      int
	err       error
}

// check refuses a script with a cmdlet, a parameter or a method that is not there.
func check(s *Script, functions map[string]bool) error {
	c := &checker{functions: map[string]bool{}, line: 1}
	maps.Copy(c.functions, functions)
	c.script(s)
	return c.err
}

func (c *checker) refuse(format string, args ...any) {
	if c.err == nil {
		c.err = &Refusal{Line: c.line, What: fmt.Sprintf(format, args...)}
	}
}

func (c *checker) script(s *Script) {
	for _, st := range s.body { // functions may be called before they are seen
		if f, ok := st.(*functionStmt); ok {
			c.functions[f.name] = true
		}
	}
	for _, p := range s.params {
		if p.fallback != nil {
			p.fallback.check(c)
		}
	}
	s.body.check(c)
}

func (x *literal) check(*checker)  {}
func (x *variable) check(*checker) {}
func (x *blockX) check(c *checker) { c.script(x.script) }
func (x *unary) check(c *checker)  { x.x.check(c) }
func (x *cast) check(c *checker)   { x.x.check(c) }
func (x *sub) check(c *checker)    { x.body.check(c) }
func (x *template) check(c *checker) {
	for _, p := range x.parts {
		p.check(c)
	}
}

func (x *list) check(c *checker) {
	for _, i := range x.items {
		i.check(c)
	}
}

func (x *binary) check(c *checker) {
	x.a.check(c)
	x.b.check(c)
}

func (x *index) check(c *checker) {
	x.of.check(c)
	x.at.check(c)
}

func (x *member) check(c *checker) {
	x.of.check(c)
	for _, a := range x.args {
		a.check(c)
	}
	if m, ok := methods()[x.name]; x.call && (!ok || m.args != len(x.args)) {
		c.refuse("the method .%s with %d arguments is not part of Mullion's PowerShell", x.name, len(x.args))
	}
}

func (s *assign) check(c *checker)    { s.x.check(c) }
func (s *whileStmt) check(c *checker) { s.cond.check(c); s.body.check(c) }
func (s *foreachStmt) check(c *checker) {
	s.in.check(c)
	s.body.check(c)
}
func (s *functionStmt) check(c *checker) { c.functions[s.name] = true; c.script(s.script) }

func (s *ifStmt) check(c *checker) {
	for i := range s.conds {
		s.conds[i].check(c)
		s.blocks[i].check(c)
	}
	s.other.check(c)
}

func (s *leave) check(c *checker) {
	if s.x != nil {
		s.x.check(c)
	}
}

func (s *pipeline) check(c *checker) {
	for i := range s.stages {
		st := &s.stages[i]
		if st.line > 0 {
			c.line = st.line
		}
		if st.x != nil {
			st.x.check(c)
			if i > 0 {
				c.refuse("an expression after |")
			}
		} else {
			c.command(st)
		}
		if st.file != nil {
			st.file.check(c)
		}
	}
}

// cmdletName is the form of the names of cmdlets; what has it and is unknown is one that is not there.
var cmdletName = regexp.MustCompile(`^[A-Za-z]+-[A-Za-z]+$`)

func (c *checker) command(s *stage) {
	s.name.check(c)
	for _, a := range s.args {
		if a.x != nil {
			a.x.check(c)
		}
	}
	word := lower(s.word)
	if s.word == "" || c.functions[word] {
		return
	}
	cmd, ok := lookup(word)
	switch {
	case ok:
		if _, err := cmd.bind(s.args); err != nil {
			c.refuse("%v", err)
		}
	case cmdletName.MatchString(word):
		c.refuse("the cmdlet %s is not part of Mullion's PowerShell", s.word)
	case strings.Contains(aliases, " "+word+" "):
		c.refuse("%s, a name of a cmdlet, is not part of Mullion's PowerShell", s.word)
	}
}

// aliases are PowerShell's names for cmdlets that are not here
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/get-alias); a program of such a name needs .exe or &.
const aliases = " sort group measure tee compare diff icm iwr irm wget curl invoke start saps spps kill set gv sv clv nv rv gm fl ft fw fc gsv sasv spsv gcm help man history h r gmo rmo gwmi gcim nal sal gal ogv epcsv ipcsv rvpa cvpa pushd popd clear cls chdir move mv mi ren rni rjb rcjb sls trcm tee nmo gdr ndr rdr lp mount "
