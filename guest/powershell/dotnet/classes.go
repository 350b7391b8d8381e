package dotnet

import (
	"slices"
	"strings"
	"sync"

	"mullion.dev/mullion/guest/powershell/address"
	"mullion.dev/mullion/guest/powershell/certificate"
	"mullion.dev/mullion/guest/powershell/events"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/native"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/sockets"
	"mullion.dev/mullion/guest/powershell/stream"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/guest/powershell/xmldoc"
)

// ClassNamed finds a class by one of its names.
func ClassNamed(name string) *object.Class {
	known.once.Do(func() {
		known.byName = map[string]*object.Class{}
		for _, c := range Classes() {
			for _, name := range append([]string{words.TypeName(c.Name)}, c.Others...) {
				if known.byName[name] == nil {
					known.byName[name] = c
				}
			}
		}
	})
	return known.byName[plainName(name)]
}

// known are the classes by all their names, made when the first is asked for.
//
//nolint:gochecknoglobals // They are the same for all.
var known struct {
	once   sync.Once
	byName map[string]*object.Class
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
		return nil, &object.Exception{
			Class:    object.RuntimeException,
			ID:       "InvokeMethodOnNull",
			Category: object.InvalidOperating,
			Message:  "You cannot call a method on a null-valued expression.",
		}
	}

	var r *object.Method
	c := object.ClassOf(on)
	if o, ok := on.(*object.Object); ok && o.Kind == object.TypeKind {
		c = typeClass()
	}
	if c != nil {
		r = object.Find(c.Methods, name)
	}
	if r == nil {
		r = object.Find(object.EveryClass().Methods, name)
	}
	if _, number := on.(int64); r == nil && number { // it may be a pointer
		r = object.Find(pointerClass("IntPtr").Methods, name)
	}
	if !r.Takes(len(args)) {
		return nil, object.NoMethod(object.TypeName(on), name, len(args))
	}

	v, err := r.Do(&object.Call{
		State: s,
		On:    on,
		Args:  args,
	})

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

// Classes returns the implemented types of .NET. Those of exceptions are made by their names.
func Classes() []*object.Class {
	return slices.Concat(smallClasses(), numberClasses(), attributeClasses(), []*object.Class{
		fileStreamClass(), gzipClass(), itemOf("FileInfo"), itemOf("DirectoryInfo"),
		dictionaryClass(), comparerClass(), setClass(), lineClass(queueName, "Queue", false),
		lineClass(stackName, "Stack", true), offsetClass(), xmldoc.Class(), xmldoc.ElementClass(),
		xmldoc.NamespacesClass(), typeClass(), identityClass(), principalClass(), consoleClass(),
		object.StringClass(), object.CharClass(), object.IntegerClass(), object.LongClass(), object.DoubleClass(),
		object.BooleanClass(), object.ArrayClass(), object.HashtableClass(), object.OrderedClass(), customClass(),
		object.ListClass(false), object.ListClass(true), library.BuilderClass(), dateClass(),
		object.SpanClass(), object.GUIDClass(), library.MathClass(), convertClass(), environmentClass(),
		library.RandomClass(), library.StopwatchClass(), regexClass(), notePropertyClass(), pathClass(), fileClass(),
		directoryClass(), stream.EncodingClass(), stream.Class(), stream.ReaderClass(), stream.WriterClass(),
		address.URIClass(), address.Class(), endPointClass(), address.DNSClass(), listenerClass(),
		prefixesClass(), contextClass(), requestClass(), responseClass(), library.PairsClass(), library.HeadersClass(),
		object.RecordClass(), object.ReferenceClass(), enumClass(), ProcessClass(), managerClass(),
		webClientClass(), sockets.Class(), library.VersionClass(), certificate.Class(), certificate.StoreClass(),
		provider.KeyClass(), SecureClass(), credentialClass(), blockClass(), provider.ItemClass(),
		aclClass(), ruleClass(), accountClass("NTAccount"), accountClass("SecurityIdentifier"),
		events.TimerClass(), events.WatcherClass(), native.MarshalClass(), object.ExceptionClass("System.Exception"),
	})
}

// Construct makes an object of a type.
func Construct(s *session.State, name string, args []object.Value) (object.Value, error) {
	if exception := object.ExceptionName(name); exception != "" {
		return object.NewException(exception).Do(&object.Call{State: s, Args: args})
	}
	if item, isArray := strings.CutSuffix(words.TypeName(name), "[]"); isArray && Defined(s).Known(item) {
		return makeArray(item, args)
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

// makeArray makes an array of so many items, each of which is its type's first value.
func makeArray(item string, args []object.Value) (object.Value, error) {
	if len(args) != 1 {
		return nil, object.NoTypeToMake(item + "[]")
	}

	n, err := object.Integer(args[0])
	if err != nil {
		return nil, err
	}

	if n < 0 {
		return nil, object.Raise("System.OverflowException", "Arithmetic operation resulted in an overflow.")
	}
	if n > object.MostItems {
		return nil, object.TooLarge()
	}

	items := make([]object.Value, n)
	first, err := Converted(item, nil)
	if err != nil || item == "string" {
		first = nil
	}

	for i := range items {
		items[i] = first
	}

	return items, nil
}

// customClass makes objects without properties.
func customClass() *object.Class {
	return &object.Class{
		Name:   "System.Management.Automation.PSObject",
		Others: []string{"psobject", "pscustomobject", "object", "management.automation.pscustomobject"},
		Make:   &object.Method{Do: func(*object.Call) (object.Value, error) { return object.New(object.Custom), nil }},
	}
}

// blockClass returns the class ScriptBlock: Create makes a block of a text.
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
