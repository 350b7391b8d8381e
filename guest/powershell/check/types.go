package check

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/words"
)

func (c *checker) checkCast(x *lang.Cast) {
	c.check(x.X)
	if !c.types[x.To] && !c.types[strings.TrimSuffix(x.To, "[]")] && !dotnet.KnownType(x.To) {
		c.lack("the type [%s] is %s", x.Written, words.NotHere)
	}
}

func (c *checker) checkClass(s *lang.ClassStmt) {
	c.at(s.At.Line())
	for _, p := range s.Props {
		c.script(&lang.Script{Params: []lang.Param{p.Param}})
	}
	for _, m := range s.Methods {
		c.script(m.Script)
		for _, x := range m.Base {
			c.check(x)
		}
	}
}

func (c *checker) checkStaticOf(x *lang.StaticOf) {
	c.check(x.Of)
	for _, a := range x.Args {
		c.check(a)
	}
}

func (c *checker) checkTypeOperand(x *lang.TypeOperand) {
	c.check(x.X)
	c.check(x.T)
}

func (c *checker) checkTypeTest(x *lang.TypeTest) {
	c.check(x.X)
	if !c.types[x.Of] && !binding.TypeKnown(x) {
		c.lack("-is [%s] is %s", x.Written, words.NotHere)
	}
}

func (c *checker) checkStatic(x *lang.Static) {
	if !c.types[x.Of] && !binding.StaticKnown(x, dotnet.ClassNamed(x.Of)) {
		c.lack("[%s]::%s of .NET is %s", x.Written, x.Member, words.NotHere)
	}
	for _, a := range x.Args {
		c.check(a)
	}
}

func (c *checker) checkTypeValue(x *lang.TypeLiteral) {
	if !c.types[words.TypeName(x.Name)] && !dotnet.KnownType(x.Name) {
		c.lack("the type [%s] is %s", x.Name, words.NotHere)
	}
}
