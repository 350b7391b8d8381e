package native

import (
	"slices"
	"strings"
)

// declared is a type of a source.
type declared struct {
	name string // whole: Namespace.Outer+Inner
	line int

	functions []function
	constants []constant
	fields    []field // of a structure; nil for another type

	structure bool
	packing   int  // 0: as wide as the fields
	wide      bool // its texts are UTF-16
	enum      *enumeration
}

// enumeration is what an enumeration has beside its name.
type enumeration struct {
	flags  bool
	of     string // the type of its numbers
	values []constant
}

// constant is a name with a value: an int64, a text or a bool.
type constant struct {
	name  string
	value any
}

// function is one of a library.
type function struct {
	name, library string
	entries       []string // the names that are looked for in the library, in order
	wide          bool     // texts are UTF-16, not of the ANSI code page
	keeps         bool     // SetLastError
	result        kind
	params        []param
	line          int
}

// param is a parameter of a function.
type param struct {
	name     string
	of       kind
	out, ref bool
}

// kind is a type as a parameter, a result or a field has it.
type kind struct {
	name string // in C#, as it is written and without System.
	list bool   // an array
	as   string // UnmanagedType of MarshalAs, "" without
	size int64  // SizeConst
	line int
}

// field is one of a structure.
type field struct {
	name string
	of   kind
}

// attribute is what stands in brackets before a declaration.
type attribute struct {
	target, name string // target is "return" or ""
	args         []string
	named        map[string]string
}

// reader reads declarations.
type reader struct {
	tokens []token
	at     int
	depth  int // how many namespaces, types and brackets are open
	types  []*declared
}

// read returns the types of a source.
func read(source string) ([]*declared, error) {
	tokens, err := tokensOf(source)
	if err != nil {
		return nil, err
	}
	r := &reader{tokens: tokens}
	if err := r.space(""); err != nil {
		return nil, err
	}
	return r.types, nil
}

func (r *reader) peek() token { return r.tokens[r.at] }

func (r *reader) next() token {
	t := r.tokens[r.at]
	if t.kind != endToken {
		r.at++
	}
	return t
}

// is takes the next token if it is this word or sign.
func (r *reader) is(text string) bool {
	t := r.peek()
	if (t.kind != wordToken && t.kind != signToken) || t.text != text {
		return false
	}
	r.at++
	return true
}

func (r *reader) fail(what string) error { return &Error{r.peek().line, what} }

// want takes a word or sign that has to be there.
func (r *reader) want(text string) error {
	if !r.is(text) {
		return r.fail("there is no \"" + text + "\" before \"" + r.peek().text + "\"")
	}
	return nil
}

func (r *reader) name() (string, error) {
	t := r.peek()
	if t.kind != wordToken {
		return "", r.fail("there is no name before \"" + t.text + "\"")
	}
	r.at++
	return t.text, nil
}

// dotted reads a name with its namespaces.
func (r *reader) dotted() (string, error) {
	name, err := r.name()
	for err == nil && r.is(".") {
		var more string
		more, err = r.name()
		name += "." + more
	}
	return name, err
}

// mostDepth bounds how deep namespaces, types and brackets lie in one another.
const mostDepth = 50

// within reads what is in something else.
func (r *reader) within(read func() error) error {
	if r.depth >= mostDepth {
		return r.fail("it lies in too much else")
	}
	r.depth++
	defer func() { r.depth-- }()
	return read()
}

// space reads what is in a namespace, until its end.
func (r *reader) space(of string) error {
	for r.peek().kind != endToken {
		switch {
		case of != "" && r.is("}"):
			return nil
		case r.is(";"):
		case r.is("using"):
			for r.peek().kind != endToken && !r.is(";") {
				r.next()
			}
		case r.is("namespace"):
			if err := r.namespace(of); err != nil {
				return err
			}
		default:
			if err := r.inSpace(of); err != nil {
				return err
			}
		}
	}

	if of != "" {
		return r.fail("a \"}\" is missing")
	}
	return nil
}

// namespace reads one after its word.
func (r *reader) namespace(of string) error {
	name, err := r.dotted()
	if err != nil {
		return err
	}
	if err := r.want("{"); err != nil {
		return err
	}
	return r.within(func() error { return r.space(of + name + ".") })
}

// inSpace reads a type of a namespace.
func (r *reader) inSpace(of string) error {
	attributes, _, err := r.head()
	if err != nil {
		return err
	}
	done, err := r.typed(of, attributes)
	if err == nil && !done {
		err = r.fail("\"" + r.peek().text + "\" is no type")
	}
	return err
}

// head reads the attributes and modifiers of a declaration.
func (r *reader) head() (attributes []attribute, words []string, err error) {
	for r.is("[") {
		some, err := r.attributes()
		if err != nil {
			return nil, nil, err
		}
		attributes = append(attributes, some...)
	}

	modifiers := []string{
		"public", "private", "internal", "protected", "static", "extern", "unsafe", "sealed", "partial", "const", "readonly",
		"abstract", "new", "virtual", "override",
	}
	for slices.Contains(modifiers, r.peek().text) && r.peek().kind == wordToken {
		words = append(words, r.next().text)
	}
	return attributes, words, nil
}

// attributes reads a list of them after its bracket.
func (r *reader) attributes() ([]attribute, error) {
	var all []attribute
	target := ""
	for {
		name, err := r.dotted()
		if err != nil {
			return nil, err
		}
		if r.is(":") {
			target = name
			continue
		}

		name = strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "Attribute")
		a := attribute{
			target: target,
			name:   name,
			named:  map[string]string{},
		}
		if r.is("(") {
			if err := r.arguments(&a); err != nil {
				return nil, err
			}
		}
		all = append(all, a)
		if r.is("]") {
			return all, nil
		}
		if err := r.want(","); err != nil {
			return nil, err
		}
	}
}

// arguments reads those of an attribute: values, and names with values.
func (r *reader) arguments(a *attribute) error {
	for !r.is(")") {
		name := ""
		if r.tokens[min(r.at+1, len(r.tokens)-1)].text == "=" && r.peek().kind == wordToken {
			name = r.next().text
			r.next()
		}

		value := ""
		for depth := 0; depth > 0 || (r.peek().text != "," && r.peek().text != ")") || r.peek().kind != signToken; {
			t := r.next()
			switch {
			case t.kind == endToken:
				return r.fail("an attribute that does not end")
			case t.kind == signToken && t.text == "(":
				depth++
			case t.kind == signToken && t.text == ")":
				depth--
			}
			value += t.text
		}

		if name != "" {
			a.named[name] = value
		} else {
			a.args = append(a.args, value)
		}
		r.is(",")
	}

	return nil
}

// typed reads a type if there is one.
func (r *reader) typed(of string, attributes []attribute) (done bool, err error) {
	what := r.peek()
	switch what.text {
	case "class", "struct", "enum":
	case "interface", "delegate", "event":
		return false, r.fail("a " + what.text)
	default:
		return false, nil
	}

	r.next()
	name, err := r.name()
	if err != nil {
		return false, err
	}
	if r.peek().text == "<" {
		return false, r.fail("a generic type")
	}
	d := &declared{name: of + name, line: what.line}
	r.types = append(r.types, d)
	if what.text == "enum" {
		return true, r.enumeration(d, attributes)
	}

	d.structure = what.text == "struct"
	if err := d.layout(attributes, what.line); err != nil {
		return false, err
	}
	if r.peek().text == ":" {
		return false, r.fail("a class or structure with a base")
	}
	if err := r.want("{"); err != nil {
		return false, err
	}

	return true, r.within(func() error { return r.members(d) })
}

// layout reads how a structure lies in memory.
func (d *declared) layout(attributes []attribute, line int) error {
	for _, a := range attributes {
		if a.name != "StructLayout" {
			continue
		}
		if !slices.Contains(a.args, "LayoutKind.Sequential") {
			return &Error{line, "a structure whose layout is not LayoutKind.Sequential"}
		}
		d.wide = wideSet(a.named["CharSet"])
		if a.named["Pack"] == "" || a.named["Pack"] == "0" {
			continue
		}
		n, ok := numberOf(a.named["Pack"])
		if !ok || n < 1 || n > 16 || n&(n-1) != 0 {
			return &Error{line, "Pack=" + a.named["Pack"]}
		}
		d.packing = int(n)
	}

	return nil
}

// members reads those of a class or structure, until its end.
func (r *reader) members(d *declared) error {
	for !r.is("}") {
		if r.peek().kind == endToken {
			return r.fail("a \"}\" is missing")
		}
		if err := r.member(d); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) member(d *declared) error {
	attributes, words, err := r.head()
	if err != nil {
		return err
	}
	if done, err := r.typed(d.name+"+", attributes); done || err != nil {
		return err
	}

	line := r.peek().line
	of, err := r.kind(attributes)
	if err != nil {
		return err
	}
	name, err := r.name()
	if err != nil {
		return &Error{line, "the code of " + d.name}
	}

	switch {
	case slices.Contains(words, "const"):
		return r.constant(d, of, name)
	case r.is("("):
		if !slices.Contains(words, "extern") {
			return &Error{line, "the code of " + d.name + "." + name}
		}
		f := function{
			name:   name,
			result: of,
			line:   line,
		}
		return r.function(d, f, attributes)
	case d.structure && !slices.Contains(words, "static"):
		return r.fields(d, of, name, attributes)
	}

	return &Error{line, "the code of " + d.name + "." + name}
}

// kind reads a type, with what MarshalAs says of it. Of a function, it says that of the result.
func (r *reader) kind(attributes []attribute) (kind, error) {
	line := r.peek().line
	name, err := r.dotted()
	if err != nil {
		return kind{}, err
	}
	k := kind{name: strings.TrimPrefix(name, "System."), line: line}
	if r.is("[") {
		if err := r.want("]"); err != nil {
			return k, err
		}
		k.list = true
	}

	for _, sign := range []string{"*", "<", "?", "["} {
		if r.peek().text == sign {
			return k, r.fail("the type \"" + name + sign + "\"")
		}
	}

	for _, a := range attributes {
		if a.name != "MarshalAs" || len(a.args) == 0 {
			continue
		}
		k.as = strings.TrimPrefix(a.args[0][strings.LastIndexByte(a.args[0], '.')+1:], "UnmanagedType.")
		if size := a.named["SizeConst"]; size != "" {
			n, ok := numberOf(size)
			if !ok || n < 1 || n > mostSource {
				return k, &Error{line, "SizeConst=" + size}
			}
			k.size = n
		}
	}

	return k, nil
}

// fields reads one or several fields of a structure.
func (r *reader) fields(d *declared, of kind, name string, attributes []attribute) error {
	for _, a := range attributes {
		if a.name == "FieldOffset" {
			return r.fail("a field with FieldOffset")
		}
	}

	for {
		d.fields = append(d.fields, field{name, of})
		if r.is(";") {
			return nil
		}
		if !r.is(",") {
			return r.fail("the code of " + d.name + "." + name)
		}
		var err error
		if name, err = r.name(); err != nil {
			return err
		}
	}
}

// function reads what follows the bracket of a function.
func (r *reader) function(d *declared, f function, attributes []attribute) error {
	i := slices.IndexFunc(attributes, func(a attribute) bool { return a.name == "DllImport" })
	if i < 0 || len(attributes[i].args) != 1 {
		return &Error{f.line, f.name + " is extern, and has no [DllImport]"}
	}
	a := attributes[i]
	f.library = a.args[0]
	f.keeps = a.named["SetLastError"] == "true"
	f.wide = wideSet(a.named["CharSet"])
	f.entries = entriesOf(f.name, a.named["EntryPoint"], f.wide, a.named["ExactSpelling"] == "true")
	if a.named["PreserveSig"] == "false" {
		return &Error{f.line, "PreserveSig=false"}
	}

	for !r.is(")") {
		p, err := r.param()
		if err != nil {
			return err
		}
		f.params = append(f.params, p)
		if !r.is(",") && r.peek().text != ")" {
			return r.fail("there is no \")\" before \"" + r.peek().text + "\"")
		}
	}

	d.functions = append(d.functions, f)
	return r.want(";")
}

// wideSet reports whether a CharSet is of UTF-16. Without one it is of the ANSI code page.
func wideSet(set string) bool {
	return strings.HasSuffix(set, ".Unicode") || strings.HasSuffix(set, ".Auto")
}

// entriesOf returns the names that a function may have in its library
// (https://learn.microsoft.com/dotnet/framework/interop/specifying-a-character-set).
func entriesOf(name, entry string, wide, exact bool) []string {
	if entry != "" {
		name = entry
	}
	switch {
	case exact:
		return []string{name}
	case wide:
		return []string{name + "W", name}
	}
	return []string{name, name + "A"}
}

func (r *reader) param() (param, error) {
	attributes, _, err := r.head()
	if err != nil {
		return param{}, err
	}

	p := param{}
	switch {
	case r.is("out"):
		p.out = true
	case r.is("ref"), r.is("in"):
		p.ref = true
	}
	if p.of, err = r.kind(attributes); err != nil {
		return p, err
	}
	p.name, err = r.name()
	return p, err
}
