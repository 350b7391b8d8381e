package powershell

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzParse checks that the parser ends, that parser and checker do not panic, and that an accepted script has one
// meaning: printed from its parts, it is parsed into the same parts again.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"run", "refused", "ended", "late"} {
		for _, script := range scripts(f, folder) {
			f.Add(script)
		}
	}
	for _, seed := range []string{
		"\"$(", "@(", "$a[", "-", "function", "& {", "1..", "$a.b(", "`", "@\"\n$(\n\"@", "$a.b[0] = 1", "a > b >> c",
		"param([int]$a = 1, $b)\n$a", "a -b:$c", "a`\nb", "1,2,3 -join $x.y[0]", "\ufeffecho \x00", "$a=$b=1;($c=2)",
		"[io.path]::combine(", "@{a=1;'b'=2;$c=3}.a", "[ordered]@{\na = @(1)\n}", "try{1}catch[exception]{2}finally{3}",
		"switch -regex ($a) { 'x' {1} 2 {3} {$_} {4} default {5} }", "do{1}until(2)", "for($i=0;$i-lt3;$i++){1}",
		"for(;;){}", "f @a -b", "$a[1]++", "$a -isnot [string]", "[guid]::empty", "echo a(1)", "$a.b((1,2),3)", "'{0}' -f 1,2", "[int]$x = 5",
		"function f { [CmdletBinding()] param([Parameter(Mandatory=$true)][ValidateSet('a',\"b'\")][Alias('c')][string]$x) }",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		_ = lacks(s, nil)
		printed := printScript(s)
		again, err := Parse(printed)
		if err != nil {
			t.Fatalf("%q is read, and printed as %q: %v", text, printed, err)
		}
		if diff := cmp.Diff(s, again, sameParts()...); diff != "" {
			t.Fatalf("%q is read otherwise when it is printed as %q:\n%s", text, printed, diff)
		}
	})
}

// sameParts compares scripts without their text and places.
func sameParts() []cmp.Option {
	return []cmp.Option{
		cmp.Comparer(func(a, b *object) bool { return text(a.props["fullname"]) == text(b.props["fullname"]) }),
		cmp.AllowUnexported(
			Script{}, param{}, literal{}, variable{}, template{}, list{}, sub{}, unary{}, binary{}, cast{}, member{},
			index{}, blockX{}, pipeline{}, assign{}, assignTo{}, ifStmt{}, whileStmt{}, foreachStmt{}, functionStmt{},
			leave{}, doStmt{}, forStmt{}, tryStmt{}, catch{}, switchStmt{}, hashX{}, typeX{}, attributes{}, condition{},
			trapStmt{},
			assignSeveral{}, typeValue{}, lateX{}, lateStmt{}, incX{}, staticOf{}, typeOperand{}, redirection{},
			stage{}, redirect{}, argument{}, number{}, static{}, enum{}, enumType{}, enumName{},
		),
		cmp.FilterPath(isPlace, cmp.Ignore()),
		cmpopts.EquateEmpty(),
	}
}

// isPlace reports whether a field says only where a part is, or how it is written.
func isPlace(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	if !ok {
		return false
	}
	if p.Index(-2).Type() == reflect.TypeFor[Script]() {
		return slices.Contains([]string{"text", "name", "filter", "lacking"}, field.Name())
	}
	return slices.Contains([]string{"line", "written", "member", "lacking"}, field.Name())
}

func printScript(s *Script) string {
	var params []string
	for _, p := range s.params {
		one := "${" + p.name + "}"
		if p.to != "" {
			one = "[" + p.to + "]" + one
		}
		one = printAttributes(p) + one
		if p.fallback != nil {
			one += " = " + printExpr(p.fallback)
		}
		params = append(params, one)
	}
	head := ""
	if s.strict {
		head = map[bool]string{false: "[cmdletbinding()]", true: "[cmdletbinding(positionalbinding = $false)]"}[s.byName]
	}
	for _, name := range s.aliases {
		head += "[alias(" + printExpr(&literal{name}) + ")]"
	}
	if params != nil || s.strict || s.aliases != nil {
		head += "param(" + strings.Join(params, ", ") + ")\n"
	}
	if s.sections {
		for _, one := range []struct {
			word string
			b    block
		}{{"begin", s.begin}, {"process", s.process}, {"end", s.body}} {
			if one.b != nil {
				head += one.word + " {\n" + printBlock(one.b) + "\n}\n"
			}
		}
		return head
	}
	return head + printBlock(s.body)
}

func printAttributes(p param) string {
	b := ""
	if p.declared {
		b += "[parameter()]"
	}
	if p.mandatory {
		b += "[parameter(mandatory)]"
	}
	if p.piped {
		b += "[parameter(valuefrompipeline)]"
	}
	if p.pipedName {
		b += "[parameter(valuefrompipelinebypropertyname)]"
	}
	if p.remaining {
		b += "[parameter(valuefromremainingarguments)]"
	}
	if p.position != nil {
		b += fmt.Sprintf("[parameter(position = %d)]", *p.position)
	}
	for _, one := range p.conditions {
		b += "[" + one.name + "(" + printExprs(one.args) + ")]"
	}
	var names []expr
	for _, name := range p.aliases {
		names = append(names, &literal{name})
	}
	if names != nil {
		b += "[alias(" + printExprs(names) + ")]"
	}
	return b
}

func printBlock(b block) string {
	var lines []string
	for _, s := range b {
		lines = append(lines, printStmt(s))
	}
	return strings.Join(lines, "\n")
}

func printStmt(s stmt) string {
	switch s := s.(type) {
	case *pipeline:
		var stages []string
		for _, st := range s.stages {
			stages = append(stages, printStage(st))
		}
		return strings.Join(stages, " | ")
	case *assign:
		if s.as != "" {
			return "[" + s.as + "]" + printExpr(&s.to) + " = " + printStmt(s.x)
		}
		return printExpr(&s.to) + " " + s.op + " " + printStmt(s.x)
	case *assignTo:
		return printExpr(s.to) + " " + s.op + " " + printStmt(s.x)
	case *assignSeveral:
		var names []string
		for _, to := range s.to {
			names = append(names, printExpr(to))
		}
		return strings.Join(names, ", ") + " = " + printStmt(s.x)
	case *ifStmt:
		var b strings.Builder
		for i := range s.conds {
			if i > 0 {
				b.WriteString("else")
			}
			fmt.Fprintf(&b, "if %s {\n%s\n} ", printExpr(s.conds[i]), printBlock(s.blocks[i]))
		}
		if s.other != nil {
			fmt.Fprintf(&b, "else {\n%s\n}", printBlock(s.other))
		}
		return b.String()
	case *whileStmt:
		return fmt.Sprintf("while %s {\n%s\n}", printExpr(s.cond), printBlock(s.body))
	case *foreachStmt:
		in := printBlock(s.in.(*sub).body)
		return fmt.Sprintf("foreach (${%s} in %s) {\n%s\n}", s.name, in, printBlock(s.body))
	case *doStmt:
		word := map[bool]string{false: "while", true: "until"}[s.until]
		return fmt.Sprintf("do {\n%s\n} %s %s", printBlock(s.body), word, printExpr(s.cond))
	case *forStmt:
		part := func(s stmt) string {
			if s == nil {
				return ""
			}
			return printStmt(s)
		}
		cond := ""
		if s.cond != nil {
			cond = printBlock(s.cond.(*sub).body)
		}
		return fmt.Sprintf("for (%s; %s; %s) {\n%s\n}", part(s.first), cond, part(s.step), printBlock(s.body))
	case *tryStmt:
		b := fmt.Sprintf("try {\n%s\n} ", printBlock(s.body))
		for _, one := range s.catches {
			types := ""
			if one.types != nil {
				types = "[" + strings.Join(one.types, "], [") + "]"
			}
			b += fmt.Sprintf("catch %s {\n%s\n} ", types, printBlock(one.body))
		}
		if s.always {
			b += fmt.Sprintf("finally {\n%s\n}", printBlock(s.last))
		}
		return b
	case *trapStmt:
		types := ""
		if s.types != nil {
			types = "[" + s.types[0] + "]"
		}
		return fmt.Sprintf("trap %s {\n%s\n}", types, printBlock(s.body))
	case *lateStmt:
		if strings.HasPrefix(s.what, "using") {
			return s.what
		}
		return s.what + " { }"
	case *switchStmt:
		return printSwitch(s)
	case *functionStmt:
		return fmt.Sprintf("function %s {%s\n}", s.name, printScript(s.script))
	case *leave:
		if s.x == nil {
			return s.word
		}
		return s.word + " " + printStmt(s.x)
	}
	return fmt.Sprintf("<%T>", s)
}

func printSwitch(s *switchStmt) string {
	b := "switch "
	if s.how != "" {
		b += "-" + s.how + " "
	}
	if s.exact {
		b += "-casesensitive "
	}
	if s.file {
		b += "-file "
	}
	b += printExpr(s.in) + " {\n"
	for i, x := range s.patterns {
		pattern := "default"
		if x != nil {
			pattern = printExpr(x)
		}
		b += pattern + " {\n" + printBlock(s.blocks[i]) + "\n}\n"
	}
	return b + "}"
}

func printStage(s stage) string {
	var parts []string
	switch {
	case s.x != nil:
		parts = append(parts, printExpr(s.x))
	case s.word != "":
		parts = append(parts, s.word)
	case s.here:
		parts = append(parts, ". "+printExpr(s.name))
	default:
		parts = append(parts, "& "+printExpr(s.name))
	}
	for _, a := range s.args {
		switch {
		case a.verbatim:
			return strings.Join(parts, " ") + " --% " + a.x.(*literal).v.(string)
		case a.splat:
			parts = append(parts, "@"+a.x.(*variable).name)
		case a.param == "" && a.text == "":
			parts = append(parts, printExpr(a.x))
		case a.x != nil:
			parts = append(parts, a.text+printExpr(a.x))
		default:
			parts = append(parts, a.text)
		}
	}
	if s.file != nil {
		parts = append(parts, map[bool]string{false: "> ", true: ">> "}[s.append]+printExpr(s.file))
	}
	if word := map[string]string{"null": "2>$null", "merge": "2>&1"}[s.errors]; word != "" {
		parts = append(parts, word)
	}
	for _, r := range s.others {
		switch {
		case r.file == nil && (s.errors != "merge" || r.stream != allStreams):
			parts = append(parts, string(r.stream)+">&1")
		case r.file == nil:
			parts = append(parts, "*>&1")
		default:
			arrow := map[bool]string{false: ">", true: ">>"}[r.append]
			parts = append(parts, string(r.stream)+arrow+" "+printExpr(r.file))
		}
	}
	return strings.Join(parts, " ")
}

func printExpr(x expr) string {
	switch x := x.(type) {
	case *literal:
		return printLiteral(x.v)
	case *variable:
		if x.env {
			return "${env:" + x.name + "}"
		}
		if x.scope != "" {
			return "${" + x.scope + ":" + x.name + "}"
		}
		return "${" + x.name + "}"
	case *template:
		return printTemplate(x)
	case *list:
		if len(x.items) == 1 {
			return ", " + printExpr(x.items[0])
		}
		return printExprs(x.items)
	case *sub:
		begin := "$("
		switch {
		case x.array:
			begin = "@("
		case x.paren:
			begin = "("
		}
		return begin + printBlock(x.body) + ")"
	case *unary:
		return x.op + " " + printExpr(x.x)
	case *binary:
		return printExpr(x.a) + " " + x.op + " " + printExpr(x.b)
	case *cast:
		if x.try {
			return printExpr(x.x) + " -as [" + x.to + "]"
		}
		return "[" + x.to + "]" + printExpr(x.x)
	case *member:
		name := "'" + strings.ReplaceAll(x.name, "'", "''") + "'"
		if x.by != nil {
			name = printExpr(x.by)
		}
		if x.call {
			return printExpr(x.of) + "." + name + "(" + printExprs(x.args) + ")"
		}
		return printExpr(x.of) + "." + name
	case *index:
		return printExpr(x.of) + "[" + printExpr(x.at) + "]"
	case *blockX:
		return "{" + printScript(x.script) + "\n}"
	case *static:
		if !x.call {
			return "[" + x.of + "]::" + x.name
		}
		return "[" + x.of + "]::" + x.name + "(" + printExprs(x.args) + ")"
	case *typeX:
		return printExpr(x.x) + map[bool]string{false: " -is [", true: " -isnot ["}[x.not] + x.of + "]"
	case *incX:
		mark := map[string]string{"+=": "++", "-=": "--"}[x.op]
		if x.prefix {
			return mark + printExpr(x.to)
		}
		return printExpr(x.to) + mark
	case *staticOf:
		if !x.call {
			return printExpr(x.of) + "::" + x.name
		}
		return printExpr(x.of) + "::" + x.name + "(" + printExprs(x.args) + ")"
	case *typeOperand:
		return printExpr(x.x) + " " + x.op + " " + printExpr(x.t)
	case *typeValue:
		return "[" + x.name + "]"
	case *hashX:
		b := ""
		if x.as != "" {
			b = "[" + x.as + "]"
		}
		b += "@{"
		for i, k := range x.keys {
			b += printExpr(k) + " = " + printStmt(x.values[i]) + "\n"
		}
		return b + "}"
	}
	return fmt.Sprintf("<%T>", x)
}

func printExprs(items []expr) string {
	var parts []string
	for _, item := range items {
		parts = append(parts, printExpr(item))
	}
	return strings.Join(parts, ", ")
}

func printLiteral(v value) string {
	switch v := v.(type) {
	case *object: // a type as an argument
		return "[" + text(v.props["fullname"]) + "]"
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
	case number:
		return v.text
	case enum:
		return "[" + v.of.name + "]::" + v.of.values[indexOfValue(v)].name
	}
	return "'" + strings.ReplaceAll(text(v), "'", "''") + "'"
}

func indexOfValue(v enum) int {
	for i, name := range v.of.values {
		if name.n == v.n {
			return i
		}
	}
	return 0
}

func printTemplate(x *template) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, part := range x.parts {
		l, ok := part.(*literal)
		if !ok {
			b.WriteString(printExpr(part))
			continue
		}
		for _, r := range text(l.v) {
			if strings.ContainsRune("\"`$", r) {
				b.WriteByte('`')
			}
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}
