package powershell

import (
	"fmt"
)

// classes are the implemented types of .NET. Those of exceptions are made by their names.
func classes() []*class {
	return []*class{
		stringClass(), charClass(), integerClass(), longClass(), doubleClass(), booleanClass(), arrayClass(),
		tableClass(), orderedClass(), customClass(), listClass(false), listClass(true), builderClass(),
		dateClass(), spanClass(), guidClass(), mathClass(), convertClass(), environmentClass(), randomClass(),
		stopwatchClass(), regexClass(),
		pathClass(), fileClass(), directoryClass(), encodingClass(), streamClass(), readerClass(), writerClass(),
		uriClass(), addressClass(), endPointClass(), dnsClass(),
		listenerClass(), prefixesClass(), contextClass(), requestClass(), responseClass(), pairsClass(), headersClass(),
		recordClass(), processClass(), managerClass(), webClientClass(), versionClass(), keyClass(),
		secureClass(), credentialClass(), blockClass(), itemClass(),
		aclClass(), ruleClass(), accountClass("NTAccount"), accountClass("SecurityIdentifier"),
		exceptionClass("System.Exception"),
	}
}

// classOf is the class of a value, nil for one that has none here.
func classOf(v value) *class {
	switch v := v.(type) {
	case string:
		return stringClass()
	case int64:
		return longClass()
	case float64:
		return doubleClass()
	case bool:
		return booleanClass()
	case []value, span:
		return arrayClass()
	case *table:
		if v.ordered {
			return orderedClass()
		}
		return tableClass()
	case *arrayList:
		return listClass(v.generic)
	case moment:
		return dateClass()
	case *object:
		switch v.kind {
		case keyKind:
			return keyClass()
		case "file":
			return itemClass()
		case "acl":
			return aclClass()
		case "rule":
			return ruleClass()
		}
	case *instance:
		return v.of
	}
	return nil
}

// static is [type]::Name or [type]::Name( … ).
type static struct {
	of, name string // the class and its member, in lower case
	call     bool
	args     []expr

	written, member string // as they are written
}

// static reads what follows [type]:: — a value of an enumeration, a static property, a static method or new. Others are
// refused.
func (p *parser) static(of string) (expr, error) {
	return p.once(func() (expr, error) { return p.staticAfter(of) })
}

func (p *parser) staticAfter(of string) (expr, error) {
	name := p.word()
	x := &static{of: full(of), name: lower(name), written: of, member: name}
	if t := enumOf(of); t != nil && p.peek() != '(' {
		if v, ok := t.named(name); ok {
			return p.members(&literal{v})
		}
	}
	if err := p.staticCall(x); err != nil {
		return nil, err
	}
	return p.members(x)
}

// staticCall reads the arguments of a static method, if it is one.
func (p *parser) staticCall(x *static) error {
	if x.name == "" {
		return p.refuse("MissingPropertyName", "Missing property name after reference operator.")
	}
	if x.call = p.peek() == '('; !x.call {
		return nil
	}
	m := &member{}
	err := p.methodArguments(m)
	x.args = m.args
	return err
}

// staticOf reads what follows a value and ::.
func (p *parser) staticOf(of expr) (expr, error) {
	name := p.word()
	x := &staticOf{of: of, static: static{name: lower(name), member: name}}
	return x, p.staticCall(&x.static)
}

// known reports whether the class has the member.
func (x *static) known() bool {
	if x.call && x.name == "new" && exceptionName(x.of) != "" {
		return len(x.args) <= 1
	}
	c := classNamed(x.of)
	switch {
	case c == nil:
		return false
	case !x.call:
		return findField(c.fields, x.name) != nil
	case x.name == "new":
		return c.make.takes(len(x.args))
	}
	return find(c.calls, x.name).takes(len(x.args))
}

// lacks is the error of a member that is not here, nil for others.
func (x *static) lacks() error {
	switch {
	case x.known():
		return nil
	case classNamed(x.of) == nil && enumOf(x.of) == nil && exceptionName(x.of) == "" && !knownCast(x.of):
		return noType(x.written)
	case x.call:
		return noMethod(x.written, x.member, len(x.args))
	}
	return noMember(x.written, x.member)
}

func (x *static) check(c *checker) {
	if !x.known() {
		c.lack("[%s]::%s of .NET is %s", x.written, x.member, notHereWords)
	}
	for _, a := range x.args {
		a.check(c)
	}
}

func (x *static) value(f *frame) (value, error) {
	if err := x.lacks(); err != nil {
		return nil, err
	}
	args, err := values(f, x.args)
	if err != nil {
		return nil, err
	}
	c := classNamed(x.of)
	switch {
	case x.call && x.name == "new":
		return f.construct(x.of, args)
	case !x.call:
		return findField(c.fields, x.name).get(f, nil)
	}
	r := find(c.calls, x.name)
	v, err := r.do(&dotCall{f: f, args: args})
	return v, calling(err, r.name, len(args))
}

// values are the values of expressions.
func values(f *frame, xs []expr) ([]value, error) {
	var args []value
	for _, x := range xs {
		v, err := x.value(f)
		if err != nil {
			return nil, err
		}
		args = append(args, plain(v))
	}
	return args, nil
}

// construct makes an object of a type.
func (f *frame) construct(name string, args []value) (value, error) {
	if exception := exceptionName(name); exception != "" {
		return newException(exception).do(&dotCall{f: f, args: args})
	}
	c := classNamed(name)
	if c == nil || c.make == nil {
		return nil, thrown("New-Object %s is not part of Mullion's PowerShell.", name)
	}
	return f.enter(c, args)
}

// newObjectCmdlet is New-Object.
func newObjectCmdlet(c *call) error {
	name := c.text("typename")
	args, ok := c.values["argumentlist"].([]value)
	if v, given := c.values["argumentlist"]; given && !ok {
		args = []value{v}
	}
	made, err := c.f.construct(name, args)
	if err != nil {
		return err
	}
	if properties, given := c.values["property"]; given {
		t, ok := properties.(*table)
		if !ok {
			return thrown("New-Object : -Property that is no hash table is not part of Mullion's PowerShell.")
		}
		for _, k := range t.keys {
			if o, isObject := made.(*object); isObject {
				o.put(text(k), t.get(k))
				continue
			}
			if err := setProperty(made, lower(text(k)), t.get(k)); err != nil {
				return err
			}
		}
	}
	return c.out.put(made)
}

// permitsType refuses a type that New-Object does not make.
func permitsType(name string) error {
	if c := classNamed(name); exceptionName(name) == "" && (c == nil || c.make == nil) {
		return fmt.Errorf("New-Object %s is %s", name, notHereWords)
	}
	return nil
}

// customClass makes objects without properties.
func customClass() *class {
	return &class{
		name:   "System.Management.Automation.PSObject",
		others: []string{"psobject", "pscustomobject", "object", "management.automation.pscustomobject"},
		make:   &routine{do: func(*dotCall) (value, error) { return newObject(custom), nil }},
	}
}
