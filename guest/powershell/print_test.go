package powershell

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

func printScript(s *lang.Script) string {
	head := ""
	if s.Strict {
		head = "[cmdletbinding(" + strings.Join(printBinding(s), ", ") + ")]"
	}
	for _, name := range s.Aliases {
		head += "[alias(" + printExpr(&lang.Literal{V: name}) + ")]"
	}

	if len(s.Params) > 0 || s.Strict || s.Aliases != nil {
		head += "param(" + printParams(s) + ")\n"
	}

	if s.Sections {
		for _, one := range []struct {
			word string
			b    lang.Block
		}{{"dynamicparam", s.Dynamic}, {"begin", s.Begin}, {"process", s.Process}, {"end", s.Body}} {
			if one.b != nil {
				head += one.word + " {\n" + printBlock(one.b) + "\n}\n"
			}
		}

		return head
	}

	return head + printBlock(s.Body)
}

func printBinding(s *lang.Script) []string {
	var parts []string
	if s.ByName {
		parts = append(parts, "positionalbinding = $false")
	}
	if s.Asks {
		parts = append(parts, "supportsshouldprocess")
	}

	if s.Impact != "" {
		parts = append(parts, "confirmimpact = "+printExpr(&lang.Literal{V: s.Impact}))
	}
	if s.DefaultSet != "" {
		parts = append(parts, "defaultparametersetname = "+printExpr(&lang.Literal{V: s.DefaultSet}))
	}
	return parts
}

func printParams(s *lang.Script) string {
	var params []string
	for _, p := range s.Params {
		one := "${" + p.Name + "}"
		if p.To != "" {
			one = "[" + p.To + "]" + one
		}
		one = printAttributes(p) + one
		if p.Fallback != nil {
			one += " = " + printExpr(p.Fallback)
		}
		params = append(params, one)
	}
	return strings.Join(params, ", ")
}

func printAttributes(p lang.Param) string {
	b := ""
	for _, r := range p.Roles {
		b += "[parameter(" + strings.Join(printRole(r), ", ") + ")]"
	}

	for _, one := range p.Conditions {
		b += "[" + one.Name + "(" + printExprs(one.Args) + ")]"
	}

	var names []lang.Expr
	for _, name := range p.Aliases {
		names = append(names, &lang.Literal{V: name})
	}
	if names != nil {
		b += "[alias(" + printExprs(names) + ")]"
	}

	return b
}

func printRole(r lang.Role) []string {
	var parts []string
	for name, is := range map[string]bool{
		"mandatory": r.Mandatory, "valuefrompipeline": r.Piped, "valuefrompipelinebypropertyname": r.PipedName,
		"valuefromremainingarguments": r.Remaining,
	} {
		if is {
			parts = append(parts, name)
		}
	}

	if r.Position != nil {
		parts = append(parts, fmt.Sprintf("position = %d", *r.Position))
	}
	if r.Set != "" {
		parts = append(parts, "parametersetname = "+printExpr(&lang.Literal{V: r.Set}))
	}
	return parts
}

func printBlock(b lang.Block) string {
	var lines []string
	for _, s := range b {
		lines = append(lines, printStmt(s))
	}
	return strings.Join(lines, "\n")
}

func printStmt(s lang.Stmt) string {
	switch s := s.(type) {
	case *lang.Pipeline:
		var stages []string
		for _, st := range s.Stages {
			stages = append(stages, printStage(st))
		}
		return strings.Join(stages, " | ")

	case *lang.Assign:
		if s.As != "" {
			return "[" + s.As + "]" + printExpr(&s.To) + " = " + printStmt(s.X)
		}
		return printExpr(&s.To) + " " + s.Op + " " + printStmt(s.X)

	case *lang.AssignTo:
		return printExpr(s.To) + " " + s.Op + " " + printStmt(s.X)
	case *lang.AssignSeveral:
		var names []string
		for _, to := range s.To {
			names = append(names, printExpr(to))
		}
		return strings.Join(names, ", ") + " = " + printStmt(s.X)

	case *lang.IfStmt:
		var b strings.Builder
		for i := range s.Conds {
			if i > 0 {
				b.WriteString("else")
			}
			fmt.Fprintf(&b, "if %s {\n%s\n} ", printExpr(s.Conds[i]), printBlock(s.Blocks[i]))
		}

		if s.Other != nil {
			fmt.Fprintf(&b, "else {\n%s\n}", printBlock(s.Other))
		}
		return b.String()

	case *lang.WhileStmt:
		return printLabel(s.Label) + fmt.Sprintf("while %s {\n%s\n}", printExpr(s.Cond), printBlock(s.Body))
	case *lang.ForeachStmt:
		in := printBlock(s.In.(*lang.SubExpr).Body)
		return printLabel(s.Label) + fmt.Sprintf("foreach (${%s} in %s) {\n%s\n}", s.Name, in, printBlock(s.Body))
	case *lang.DoStmt:
		word := map[bool]string{false: "while", true: "until"}[s.Until]
		return printLabel(s.Label) + fmt.Sprintf("do {\n%s\n} %s %s", printBlock(s.Body), word, printExpr(s.Cond))

	case *lang.ForStmt:
		part := func(s lang.Stmt) string {
			if s == nil {
				return ""
			}
			return printStmt(s)
		}

		cond := ""
		if s.Cond != nil {
			cond = printBlock(s.Cond.(*lang.SubExpr).Body)
		}
		return printLabel(s.Label) + fmt.Sprintf("for (%s; %s; %s) {\n%s\n}", part(s.First), cond, part(s.Step), printBlock(s.Body))

	case *lang.TryStmt:
		b := fmt.Sprintf("try {\n%s\n} ", printBlock(s.Body))
		for _, one := range s.Catches {
			types := ""
			if one.Types != nil {
				types = "[" + strings.Join(one.Types, "], [") + "]"
			}
			b += fmt.Sprintf("catch %s {\n%s\n} ", types, printBlock(one.Body))
		}

		if s.Always {
			b += fmt.Sprintf("finally {\n%s\n}", printBlock(s.Last))
		}
		return b

	case *lang.TrapStmt:
		types := ""
		if s.Types != nil {
			types = "[" + s.Types[0] + "]"
		}
		return fmt.Sprintf("trap %s {\n%s\n}", types, printBlock(s.Body))

	case *lang.LateStmt:
		if strings.HasPrefix(s.What, "using") {
			return s.What
		}
		return s.What + " { }"

	case *lang.ClassStmt:
		return printClass(s)
	case *lang.EnumStmt:
		b := map[bool]string{true: "[flags()] "}[s.Flags] + "enum " + s.Name + " {\n"
		for _, one := range s.Items {
			if b += one.Name; one.X != nil {
				b += " = " + printExpr(one.X)
			}
			b += "\n"
		}
		return b + "}"

	case *lang.SwitchStmt:
		return printSwitch(s)
	case *lang.FunctionStmt:
		return fmt.Sprintf("function %s {%s\n}", s.Name, printScript(s.Script))
	case *lang.LeaveStmt:
		if s.To != nil {
			return s.Word + " " + printExpr(s.To)
		}
		if s.X == nil {
			return s.Word
		}
		return s.Word + " " + printStmt(s.X)
	}

	return fmt.Sprintf("<%T>", s)
}

func printClass(s *lang.ClassStmt) string {
	b := "class " + s.Name
	if s.Bases != nil {
		b += " : " + strings.Join(s.Bases, ", ") + " "
	}

	b += " {\n"
	for _, p := range s.Props {
		b += printAttributes(p.Param) + printHead(p.Static, p.Hidden, p.To) + "${" + p.Name + "}"
		if p.Fallback != nil {
			b += " = " + printExpr(p.Fallback)
		}
		b += "\n"
	}

	for _, m := range s.Methods {
		b += printHead(m.Static, m.Hidden, m.To) + m.Name + "(" + printParams(m.Script) + ")"
		if m.Base != nil {
			b += " : base(" + printExprs(m.Base) + ")"
		}
		b += " {\n" + printBlock(m.Script.Body) + "\n}\n"
	}

	return b + "}"
}

func printHead(static, hidden bool, to string) string {
	b := map[bool]string{true: "static "}[static] + map[bool]string{true: "hidden "}[hidden]
	if to != "" {
		b += "[" + to + "]"
	}
	return b
}

func printLabel(l lang.Label) string {
	if l == "" {
		return ""
	}
	return ":" + string(l) + " "
}

func printSwitch(s *lang.SwitchStmt) string {
	b := printLabel(s.Label) + "switch "
	if s.How != "" {
		b += "-" + s.How + " "
	}
	if s.Exact {
		b += "-casesensitive "
	}

	if s.File {
		b += "-file "
	}

	b += printExpr(s.In) + " {\n"
	for i, x := range s.Patterns {
		pattern := "default"
		if x != nil {
			pattern = printExpr(x)
		}
		b += pattern + " {\n" + printBlock(s.Blocks[i]) + "\n}\n"
	}

	return b + "}"
}

func printStage(s lang.Stage) string {
	var parts []string
	switch {
	case s.X != nil:
		parts = append(parts, printExpr(s.X))
	case s.Word != "":
		parts = append(parts, s.Word)
	case s.Here:
		parts = append(parts, ". "+printExpr(s.Name))
	default:
		parts = append(parts, "& "+printExpr(s.Name))
	}

	for _, a := range s.Args {
		switch {
		case a.Verbatim:
			return strings.Join(parts, " ") + " --% " + a.X.(*lang.Literal).V.(string)
		case a.Splat:
			parts = append(parts, "@"+a.X.(*lang.Variable).Name)
		case a.Param == "" && a.Text == "":
			parts = append(parts, printExpr(a.X))
		case a.X != nil:
			parts = append(parts, a.Text+printExpr(a.X))
		default:
			parts = append(parts, a.Text)
		}
	}

	if s.File != nil {
		parts = append(parts, map[bool]string{false: "> ", true: ">> "}[s.Append]+printExpr(s.File))
	}
	if word := map[string]string{"null": "2>$null", "merge": "2>&1"}[s.Errors]; word != "" {
		parts = append(parts, word)
	}

	for _, r := range s.Others {
		switch {
		case r.File == nil && (s.Errors != "merge" || r.Stream != object.AllStreams):
			parts = append(parts, string(r.Stream)+">&1")
		case r.File == nil:
			parts = append(parts, "*>&1")
		default:
			arrow := map[bool]string{false: ">", true: ">>"}[r.Append]
			parts = append(parts, string(r.Stream)+arrow+" "+printExpr(r.File))
		}
	}

	return strings.Join(parts, " ")
}

func printExpr(x lang.Expr) string {
	switch x := x.(type) {
	case *lang.Literal:
		return printLiteral(x.V)
	case *lang.Variable:
		if x.Env {
			return "${env:" + x.Name + "}"
		}
		if x.Scope != "" {
			return "${" + x.Scope + ":" + x.Name + "}"
		}
		return "${" + x.Name + "}"

	case *lang.Template:
		return printTemplate(x)
	case *lang.List:
		if len(x.Items) == 1 {
			return ", " + printExpr(x.Items[0])
		}
		return printExprs(x.Items)

	case *lang.SubExpr:
		begin := "$("
		switch {
		case x.Array:
			begin = "@("
		case x.Paren:
			begin = "("
		}
		return begin + printBlock(x.Body) + ")"

	case *lang.Unary:
		return x.Op + " " + printExpr(x.X)
	case *lang.Binary:
		return printExpr(x.A) + " " + x.Op + " " + printExpr(x.B)
	case *lang.Cast:
		if x.Try {
			return printExpr(x.X) + " -as [" + x.To + "]"
		}
		return "[" + x.To + "]" + printExpr(x.X)

	case *lang.Member:
		name := "'" + strings.ReplaceAll(x.Name, "'", "''") + "'"
		if x.By != nil {
			name = printExpr(x.By)
		}
		if x.Call {
			return printExpr(x.Of) + "." + name + "(" + printExprs(x.Args) + ")"
		}
		return printExpr(x.Of) + "." + name

	case *lang.Index:
		return printExpr(x.Of) + "[" + printExpr(x.At) + "]"
	case *lang.BlockLiteral:
		return "{" + printScript(x.Script) + "\n}"
	case *lang.Static:
		if !x.Call {
			return "[" + x.Of + "]::" + x.Name
		}
		return "[" + x.Of + "]::" + x.Name + "(" + printExprs(x.Args) + ")"

	case *lang.TypeTest:
		return printExpr(x.X) + map[bool]string{false: " -is [", true: " -isnot ["}[x.Not] + x.Of + "]"
	case *lang.Increment:
		mark := map[string]string{"+=": "++", "-=": "--"}[x.Op]
		if x.Prefix {
			return mark + printExpr(x.To)
		}
		return printExpr(x.To) + mark

	case *lang.StaticOf:
		if !x.Call {
			return printExpr(x.Of) + "::" + x.Name
		}
		return printExpr(x.Of) + "::" + x.Name + "(" + printExprs(x.Args) + ")"

	case *lang.TypeOperand:
		return printExpr(x.X) + " " + x.Op + " " + printExpr(x.T)
	case *lang.TypeLiteral:
		return "[" + x.Name + "]"
	case *lang.HashLiteral:
		b := ""
		if x.As != "" {
			b = "[" + x.As + "]"
		}
		b += "@{"
		for i, k := range x.Keys {
			b += printExpr(k) + " = " + printStmt(x.Values[i]) + "\n"
		}

		return b + "}"
	}

	return fmt.Sprintf("<%T>", x)
}

func printExprs(items []lang.Expr) string {
	var parts []string
	for _, item := range items {
		parts = append(parts, printExpr(item))
	}
	return strings.Join(parts, ", ")
}

func printLiteral(v object.Value) string {
	switch v := v.(type) {
	case *object.Object: // a type as an argument
		return "[" + object.Text(v.Props["fullname"]) + "]"
	case int64:
		if v == math.MinInt64 {
			return "0x8000000000000000"
		}
		if v < 0 { // only hexadecimal numbers are negative
			return fmt.Sprintf("0x%X", uint64(v))
		}
		return strconv.FormatInt(v, 10)

	case float64:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s

	case object.Number:
		return v.Text
	case object.Enum:
		return "[" + v.Of.Name + "]::" + v.Of.Values[indexOfValue(v)].Name
	}

	return "'" + strings.ReplaceAll(object.Text(v), "'", "''") + "'"
}

func indexOfValue(v object.Enum) int {
	for i, name := range v.Of.Values {
		if name.N == v.N {
			return i
		}
	}
	return 0
}

func printTemplate(x *lang.Template) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, part := range x.Parts {
		l, ok := part.(*lang.Literal)
		if !ok {
			b.WriteString(printExpr(part))
			continue
		}

		for _, r := range object.Text(l.V) {
			if strings.ContainsRune("\"`$", r) {
				b.WriteByte('`')
			}
			b.WriteRune(r)
		}
	}

	return b.String() + `"`
}
