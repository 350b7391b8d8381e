package utility

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// memberObject returns an object of Get-Member.
func memberObject(of, name, kind, definition string) *object.Object {
	return object.New("member").Set("TypeName", of).Set("Name", name).Set("MemberType", kind).
		Set("Definition", definition)
}

// getMember lists the members of each type in its input.
func getMember(c *cmdlet.Call) error {
	var seen []string
	for _, v := range c.Items(cmdlet.ObjectName) {
		of, members := object.TypeName(v), membersOf
		if c.Flags["static"] {
			of = typeMeant(v)
			members = func(object.Value) []*object.Object { return staticsOf(c.State, of) }
		}
		if slices.Contains(seen, of) {
			continue
		}

		seen = append(seen, of)
		for _, m := range members(v) {
			if !memberIs(m, strings.ToLower(c.Text("membertype"))) {
				continue
			}
			wanted, err := memberNamed(c, m)
			if err != nil {
				return err
			}
			if !wanted {
				continue
			}

			if err := c.Out.Put(m); err != nil {
				return err
			}
		}
	}

	if len(seen) == 0 {
		return c.Fail(words.Errorf("You must specify an object for the Get-Member cmdlet."))
	}
	return nil
}

// memberIs says whether a member is of a kind; "" and all are every kind.
func memberIs(m *object.Object, kind string) bool {
	of := object.Text(m.Props["membertype"])
	switch kind {
	case "", "all":
		return true
	case "properties":
		return of != "Method"
	case "methods":
		return of == "Method"
	}
	return strings.EqualFold(kind, of)
}

// memberNamed says whether -Name chooses a member. A pattern that is none is an error, whatever the others choose.
func memberNamed(c *cmdlet.Call, m *object.Object) (bool, error) {
	wanted := c.Values["name"] == nil
	for name := range object.Each(c.Values["name"]) {
		re, err := pattern.Wildcard(object.Text(name))
		if err != nil {
			return false, err
		}
		wanted = wanted || re.MatchString(object.Text(m.Props["name"]))
	}
	return wanted, nil
}

// membersOf returns the methods and properties of an object, each by name.
func membersOf(v object.Value) []*object.Object {
	of := object.TypeName(v)
	var methods, properties []*object.Object
	for _, class := range []*object.Class{object.ClassOf(v), object.EveryClass()} {
		if class == nil {
			continue
		}
		for _, m := range class.Methods {
			if !slices.ContainsFunc(methods, func(o *object.Object) bool { return o.Props["name"] == m.Name }) {
				methods = append(methods, memberObject(of, m.Name, "Method", m.Name+arity(m)))
			}
		}
	}

	kind := "Property"
	if o, ok := v.(*object.Object); ok && o.Kind == object.Custom {
		kind = "NoteProperty"
	}

	for _, name := range object.PropertyNames(v) {
		got, err := object.Property(v, strings.ToLower(name))
		if err != nil {
			got = nil // its type is not known then
		}
		definition := shortType(got) + " " + name
		if kind == "NoteProperty" {
			definition += "=" + object.Text(got)
		}
		properties = append(properties, memberObject(of, name, kind, definition))
	}

	return sorted(methods, properties)
}

// sorted returns the methods and then the properties, each by their names.
func sorted(methods, properties []*object.Object) []*object.Object {
	for _, members := range [][]*object.Object{methods, properties} {
		slices.SortFunc(members, func(a, b *object.Object) int {
			return strings.Compare(strings.ToLower(object.Text(a.Props["name"])),
				strings.ToLower(object.Text(b.Props["name"])))
		})
	}

	return append(methods, properties...)
}

// typeMeant returns the type whose static members are asked for: a type itself, or that of an object.
func typeMeant(v object.Value) string {
	if o, is := v.(*object.Object); is && o.Kind == object.TypeKind {
		return object.Text(o.Props["fullname"])
	}
	return object.TypeName(v)
}

// staticsOf returns the static members of a type, with new for its constructor; of an enumeration its values.
func staticsOf(s *session.State, of string) []*object.Object {
	var methods, properties []*object.Object
	property := func(kind, name, set string) {
		properties = append(properties, memberObject(of, name, "Property", "static "+kind+" "+name+" {get;"+set+"}"))
	}
	if enum := object.EnumOf(of); enum != nil {
		for _, v := range enum.Values {
			property(of, v.Name, "")
		}
	}

	class := dotnet.ClassNamed(of)
	if class == nil {
		return properties
	}
	if class.Make != nil {
		methods = append(methods, memberObject(of, "new", "Method", of+" new"+arity(*class.Make)))
	}
	for _, m := range class.Calls {
		methods = append(methods, memberObject(of, m.Name, "Method", "static "+m.Name+arity(m)))
	}
	for _, f := range class.Fields {
		kind := "System.Object"
		if got, err := f.Get(s, nil); err == nil && got != nil {
			kind = shortType(got)
		}
		set := ""
		if f.Set != nil {
			set = "set;"
		}
		property(kind, f.Name, set)
	}
	return sorted(methods, properties)
}

// shortType returns a type as Get-Member writes it: PowerShell's own names for what has one.
func shortType(v object.Value) string {
	name := object.TypeName(v)
	if short, ok := map[string]string{
		"System.String": "string", "System.Int32": "int", "System.Int64": "long", "System.Boolean": "bool",
		"System.Double": "double", "System.DateTime": "datetime", "System.Void": "System.Object",
	}[name]; ok {
		return short
	}
	return name
}

// arity returns the number of arguments that a method takes here.
func arity(r object.Method) string {
	switch {
	case r.Most == 0:
		return "()"
	case r.Least == r.Most:
		return fmt.Sprintf("(%d)", r.Least)
	}
	return fmt.Sprintf("(%d..%d)", r.Least, r.Most)
}

func getMemberCmdlet() cmdlet.Cmdlet {
	return cmdlet.Cmdlet{
		Name:      "Get-Member",
		Aliases:   []string{"gm"},
		About:     "the properties and methods of objects, or the static ones of types; of a method the number of its arguments",
		Run:       getMember,
		Values:    []string{"name", "membertype", cmdlet.ObjectName},
		Flags:     []string{"static", "force"},
		Positions: []string{"name"},
		Takes:     cmdlet.ObjectName,
		Needs:     []string{cmdlet.ObjectName},
		Allowed:   map[string][]string{"membertype": {"method", "property", "noteproperty", "properties", "methods", "all"}},
	}
}
