package object

import "strings"

// Value is the result of an expression, one of nil, bool, int64, float64, string, Number, Enum, DateTime, []Value,
// Range,
// *Object, *Hashtable, *ArrayList, *Instance, *ScriptBlock.
type Value = any

// Range is a range of integers, both ends included. It stays a range, because tests count to 2147483647.
type Range struct{ From, To int64 }

// Object has properties, in the order in which they are shown.
type Object struct {
	Kind  string // file, process, job and others; it decides how the object is shown
	Names []string
	Props map[string]Value // by lower-case name
	Own   any              // what its methods work on
	// Class gives the class of its methods; nil: it has none. shown is its text; nil: that of its properties.
	Class func() *Class
	Shown func(o *Object) string
	// View is how it is shown where nobody says how; nil: by its kind, or with all its properties.
	View *View
}

// View are the properties that are shown of an object, as a row of a table or as a list.
type View struct {
	Names []string
	Table bool
	// Texts are what a list shows in place of values, a line each, by their properties' names.
	Texts map[string][]string
}

// New returns an object of a kind, without properties.
func New(kind string) *Object { return &Object{Kind: kind, Props: map[string]Value{}} }

// Set adds a property.
func (o *Object) Set(name string, v Value) *Object {
	o.Names = append(o.Names, name)
	o.Props[strings.ToLower(name)] = v
	return o
}

// ScriptBlock is { … } as a value.
type ScriptBlock struct {
	Words  string // as it is written, without the braces
	Script any    // as the language has read it
}

// Sink takes the objects that statements output, one by one.
type Sink struct {
	Put func(Value) error
	// Direct says that the objects go straight to standard output, so a native program may write there itself.
	Direct bool
	// Returns is where return of a class's method puts its value, nil elsewhere: with the other output.
	Returns *Sink
	// Ranges says that a range may be put as a span, not as its numbers.
	Ranges bool
}

// Apart returns the sink for what is called: its return puts its value with its other output.
func (s *Sink) Apart() *Sink {
	if s.Returns == nil {
		return s
	}
	apart := *s
	apart.Returns = nil
	return &apart
}

// Number is a number as an argument; a native program gets it as it was written.
type Number struct {
	V    Value
	Text string
}

// Collect returns a sink that appends its objects to got.
func Collect(got *[]Value) *Sink {
	return &Sink{Put: func(v Value) error {
		*got = append(*got, v)
		return nil
	}}
}

// The streams of messages, by their numbers
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_redirection).
const (
	ErrorStream       = '2'
	WarningStream     = '3'
	VerboseStream     = '4'
	DebugStream       = '5'
	InformationStream = '6'
	AllStreams        = '*'
)

// Leaving is the error by which return, throw, exit, break or continue ends what runs.
type Leaving struct {
	Word      string
	Label     string // of the loop that break or continue means, or ""
	Code      int
	What      Value
	Place          // where it was thrown, if that is not in what
	own       bool // a message of PowerShell's or this package's, not of a script
	Statement bool // it ends one statement, not the script
	Function  bool // it ends the function that throws it, and there only a statement of what calls
}

// For reports whether a break or continue is for a loop with a label, or none: one without a label is for any loop.
func (l *Leaving) For(label string) bool { return l.Label == "" || strings.EqualFold(l.Label, label) }

// Error returns what a script threw.
func (l *Leaving) Error() string {
	if r := Own[*ErrorRecord](l.What); r != nil {
		return r.Message
	}
	if l.Word == "throw" {
		return Text(l.What)
	}
	return l.Word
}
