package dotnet

import (
	"slices"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// ClassNamed finds a class by one of its names.
func ClassNamed(name string) *object.Class {
	name = words.TypeName(name)
	for _, c := range Classes() {
		if words.TypeName(c.Name) == name || slices.Contains(c.Others, name) {
			return c
		}
	}
	return nil
}

// KnownMethod reports whether objects of any class have a method with a number of arguments.
func KnownMethod(name string, args int) bool {
	for _, c := range append(Classes(), object.EveryClass()) {
		if object.Find(c.Methods, name).Takes(args) {
			return true
		}
	}
	return false
}

// CallMethod calls a method of an object.
func CallMethod(s *session.State, on object.Value, name string, args []object.Value) (object.Value, error) {
	if on == nil {
		return nil, object.Raise("System.Management.Automation.RuntimeException",
			"You cannot call a method on a null-valued expression.")
	}
	var r *object.Method
	if c := object.ClassOf(on); c != nil {
		r = object.Find(c.Methods, name)
	}
	if r == nil {
		r = object.Find(object.EveryClass().Methods, name)
	}
	if !r.Takes(len(args)) {
		return nil, object.NoMethod(object.TypeName(on), name, len(args))
	}
	v, err := r.Do(&object.Call{State: s, On: on, Args: args})
	return v, object.Calling(err, r.Name, len(args))
}

// makeObject makes an object of a class.
func makeObject(s *session.State, c *object.Class, args []object.Value) (object.Value, error) {
	if !c.Make.Takes(len(args)) {
		return nil, object.Thrown("New-Object %s with %d arguments is not part of Mullion's PowerShell.",
			c.Name, len(args))
	}
	v, err := c.Make.Do(&object.Call{State: s, Args: args})
	return v, object.Calling(err, ".ctor", len(args))
}

// Classes are the implemented types of .NET. Those of exceptions are made by their names.
func Classes() []*object.Class {
	return []*object.Class{
		object.StringClass(), object.CharClass(), object.IntegerClass(), object.LongClass(), object.DoubleClass(),
		object.BooleanClass(), object.ArrayClass(), object.HashtableClass(), object.OrderedClass(), customClass(),
		object.ListClass(false), object.ListClass(true), object.BuilderClass(), object.DateClass(),
		object.SpanClass(), object.GUIDClass(), object.MathClass(), convertClass(), environmentClass(),
		object.RandomClass(), object.StopwatchClass(), regexClass(), pathClass(), fileClass(),
		directoryClass(), object.EncodingClass(), object.StreamClass(), object.ReaderClass(), object.WriterClass(),
		object.URIClass(), object.AddressClass(), endPointClass(), object.DNSClass(), listenerClass(),
		prefixesClass(), contextClass(), requestClass(), responseClass(), object.PairsClass(), object.HeadersClass(),
		object.RecordClass(), object.ReferenceClass(), enumClass(), ProcessClass(), managerClass(),
		webClientClass(), object.VersionClass(),
		provider.KeyClass(), SecureClass(), credentialClass(), blockClass(), provider.ItemClass(),
		aclClass(), ruleClass(), accountClass("NTAccount"), accountClass("SecurityIdentifier"),
		object.ExceptionClass("System.Exception"),
	}
}

// Construct makes an object of a type.
func Construct(s *session.State, name string, args []object.Value) (object.Value, error) {
	if exception := object.ExceptionName(name); exception != "" {
		return object.NewException(exception).Do(&object.Call{State: s, Args: args})
	}
	c := Defined(s).Class(name)
	if c == nil {
		c = ClassNamed(name)
	}
	if c == nil || c.Make == nil {
		return nil, object.NoTypeToMake(name)
	}
	return makeObject(s, c, args)
}

// customClass makes objects without properties.
func customClass() *object.Class {
	return &object.Class{
		Name:   "System.Management.Automation.PSObject",
		Others: []string{"psobject", "pscustomobject", "object", "management.automation.pscustomobject"},
		Make:   &object.Method{Do: func(*object.Call) (object.Value, error) { return object.New(object.Custom), nil }},
	}
}

// blockClass is ScriptBlock: Create makes a block of a text.
func blockClass() *object.Class {
	return &object.Class{
		Name:   "System.Management.Automation.ScriptBlock",
		Others: []string{"scriptblock"},
		Calls: []object.Method{{
			Name:  "Create",
			Least: 1,
			Most:  1,
			Do: func(c *object.Call) (object.Value, error) {
				return c.State.Read(c.Text(0))
			},
		}},
	}
}
