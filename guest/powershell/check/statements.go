package check

import (
	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/lang"
)

func (c *checker) checkAssignTo(s *lang.AssignTo) {
	c.check(s.To)
	c.check(s.X)
}

func (c *checker) checkAssignSeveral(s *lang.AssignSeveral) {
	c.check(s.X)
	for _, to := range s.To {
		if _, isVariable := to.(*lang.Variable); !isVariable {
			c.check(to)
		}
	}
}

func (c *checker) checkAssign(s *lang.Assign) {
	c.check(s.X)
	if s.To.Env {
		return
	}
	l, ok := s.X.(*lang.Pipeline)
	_, preference := binding.Preferences()[s.To.Name]
	delete(c.texts, s.To.Name)
	if !ok || len(l.Stages) != 1 || l.Stages[0].X == nil {
		return
	}

	v, whole := lang.Beginning(l.Stages[0].X)
	if whole && s.Op == "=" {
		c.texts[s.To.Name] = v
	}
	if whole && preference {
		if err := binding.CheckPreference(s.To.Name, v); err != nil {
			c.lack("%v", err)
		}
	}
}

func (c *checker) checkWhile(s *lang.WhileStmt) { c.check(s.Cond); c.checkBlock(s.Body) }

func (c *checker) checkDo(s *lang.DoStmt) { c.checkBlock(s.Body); c.check(s.Cond) }

func (c *checker) checkFor(s *lang.ForStmt) {
	for _, one := range []lang.Stmt{s.First, s.Step} {
		if one != nil {
			c.check(one)
		}
	}
	if s.Cond != nil {
		c.check(s.Cond)
	}
	c.checkBlock(s.Body)
}

func (c *checker) checkForeach(s *lang.ForeachStmt) {
	c.check(s.In)
	c.checkBlock(s.Body)
}

func (c *checker) checkFunction(s *lang.FunctionStmt) {
	c.functions[s.Bare()] = true
	c.script(s.Script)
}

func (c *checker) checkIf(s *lang.IfStmt) {
	for i := range s.Conds {
		c.check(s.Conds[i])
		c.checkBlock(s.Blocks[i])
	}
	c.checkBlock(s.Other)
}

func (c *checker) checkLeave(s *lang.LeaveStmt) {
	if s.X != nil {
		c.check(s.X)
	}
	if s.To != nil {
		c.check(s.To)
	}
}

func (c *checker) checkLateStatement(s *lang.LateStmt) {
	c.at(s.At.Line())
	c.checkLate(&s.LateExpr)
}

func (c *checker) checkBlock(b lang.Block) {
	for _, s := range b {
		c.check(s)
	}
}

func (c *checker) checkSwitch(s *lang.SwitchStmt) {
	c.check(s.In)
	for i, x := range s.Patterns {
		if x != nil {
			c.check(x)
			op := map[string]string{"wildcard": "-like", "regex": "-match"}[s.How]
			if _, whole := lang.Beginning(x); whole && op != "" {
				c.checkBinary(&lang.Binary{
					Op: op,
					A:  &lang.Literal{V: ""},
					B:  x,
				})
			}
		}

		c.checkBlock(s.Blocks[i])
	}
}

func (c *checker) checkTry(s *lang.TryStmt) {
	c.checkBlock(s.Body)
	for _, one := range s.Catches {
		c.checkBlock(one.Body)
	}
	c.checkBlock(s.Last)
}

func (c *checker) checkTrap(s *lang.TrapStmt) { c.checkBlock(s.Body) }
