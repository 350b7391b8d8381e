package object

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// Exception is an error of .NET or PowerShell that ends one statement. try catches it; elsewhere it is printed, and
// the script goes on with the next statement.
type Exception struct {
	Class, Message string
	Inner          string // the class of the exception within, or ""
	ID, Category   string // as a record has them, or ""
	Target         Value
	Place
	Response Value  // the HTTP answer that it is about, or nil
	Details  string // of that answer: what the record says in the place of Message
}

// Error returns the exception's message.
func (e *Exception) Error() string { return e.Message }

// Raise returns an exception of a class, with a message.
func Raise(class, message string) error { return &Exception{Class: class, Message: message} }

// Classes of exceptions.
const (
	RuntimeException    = "System.Management.Automation.RuntimeException"
	invocationException = "System.Management.Automation.MethodInvocationException"
	BindingException    = "System.Management.Automation.ParameterBindingException"
	// TransformationException and ValidationException are of arguments that do not fit their parameters.
	TransformationException = "System.Management.Automation.ParameterBindingArgumentTransformationException"
	ValidationException     = "System.Management.Automation.ParameterBindingValidationException"
	CommandException        = "System.Management.Automation.CommandNotFoundException"
	NotFoundException       = "System.Management.Automation.ItemNotFoundException"
	RemoteException         = "System.Management.Automation.RemoteException"
	DepthException          = "System.Management.Automation.ScriptCallDepthException"
	ParseException          = "System.Management.Automation.ParseException"
	sessionException        = "System.Management.Automation.SessionStateUnauthorizedAccessException"
	MethodException         = "System.Management.Automation.MethodException"
	NoPropertyException     = "System.Management.Automation.PropertyNotFoundException"
)

// ErrorRecord is an error as catch sees it.
type ErrorRecord struct {
	Message string
	Class   string // of its exception, "" if it is not known
	// ID is FullyQualifiedErrorId, "" for the name of its exception. Category and Activity are those of CategoryInfo;
	// "" is the category of the exception and the command that made the error.
	ID, Category, Activity string

	Target Value
	inner  *ErrorRecord
	Place
	// parameter is what an ArgumentException is about.
	parameter string
	// self is the object of a script's class that the exception is, own the names of that class and its bases; nil:
	// none.
	self     *Object
	own      []string
	response Value  // the HTTP answer that a WebException is about, or nil
	Details  string // what is shown in the place of Message; "": nothing
}

// outer returns the record of the exception that PowerShell makes of one of a method.
func (r *ErrorRecord) outer(message string) *Instance {
	return &Instance{RecordClass(), &ErrorRecord{Message: message, Class: invocationException, inner: r}}
}

// Catchable reports whether try catches an error.
func Catchable(err error) bool {
	left, ok := errors.AsType[*Leaving](err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case ok:
		return left.Word == "throw"
	}
	_, ok = errors.AsType[*Exception](err)
	return ok
}

// EndsStatement reports whether an error ends one statement, not the script.
func EndsStatement(err error) bool {
	if left, ok := errors.AsType[*Leaving](err); ok {
		return left.Word == "throw" && (left.Statement || left.own)
	}
	_, ok := errors.AsType[*Exception](err)
	return ok
}

// RecordOf returns the record of an error.
func RecordOf(err error) *ErrorRecord {
	if left, ok := errors.AsType[*Leaving](err); ok {
		return thrownRecord(left)
	}

	r := &ErrorRecord{Message: err.Error()}
	if e, ok := errors.AsType[*Exception](err); ok {
		r.Class = e.Class
		r.ID, r.Category = e.ID, e.Category
		r.Target = e.Target
		r.Place = e.Place
		r.response, r.Details = e.Response, e.Details
		if e.Inner != "" {
			r.inner = &ErrorRecord{Message: e.Message, Class: e.Inner}
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		r.Class = "System.IO.FileNotFoundException"
	}

	return r
}

func thrownRecord(left *Leaving) *ErrorRecord {
	switch what := left.What.(type) {
	case *Instance:
		if r := Own[*ErrorRecord](what); r != nil {
			return r
		}
	case *ErrorRecord:
		return what
	case *Object:
		if r, ok := what.Own.(*ErrorRecord); ok {
			if r.Trace == "" {
				r.Place = left.Place
			}
			return r
		}
	}

	r := &ErrorRecord{
		Message: Text(left.What),
		Target:  left.What,
		Place:   left.Place,
	}

	if r.Class = RuntimeException; !left.own { // of a throw
		r.ID, r.Category = r.Message, OperationStopped
	} else {
		r.Target = nil
	}

	return r
}

// exception returns the exception as an object.
func (r *ErrorRecord) exception() Value {
	if r.self != nil {
		return r.self
	}
	return &Instance{ExceptionClass(r.Class), r}
}

// AsException makes an object of a script's class an exception: classes are that class and those that it is derived
// from, the last of .NET.
func AsException(o *Object, classes []string) *ErrorRecord {
	last := classes[len(classes)-1]
	r := &ErrorRecord{
		Message: fmt.Sprintf("Exception of type '%s' was thrown.", classes[0]), Class: last, self: o,
		own: classes[:len(classes)-1],
	}
	o.Own = r
	return r
}

// Describe gives an exception what its constructor says: a message, and the exception within or a parameter.
func (r *ErrorRecord) Describe(args []Value) {
	made := Own[*ErrorRecord](mustMake(r.Class, args))
	if len(args) > 0 {
		r.Message = made.Message
	}
	r.inner, r.parameter = made.inner, made.parameter
}

// mustMake returns an exception of .NET; making one has no errors.
func mustMake(class string, args []Value) Value {
	v, _ := NewException(class).Do(&Call{Args: args})
	return v
}

// MostErrors is how many errors $Error keeps, as $MaximumErrorCount has it.
const MostErrors = 256

// exceptions returns the implemented exceptions, each with the one that it is derived from.
func exceptions() map[string]string {
	const system, argument, io = "System.SystemException", "System.ArgumentException", "System.IO.IOException"
	const operation, arithmetic = "System.InvalidOperationException", "System.ArithmeticException"
	const win32 = "System.ComponentModel.Win32Exception"
	return map[string]string{
		"System.Exception":                                           "",
		"System.SystemException":                                     "System.Exception",
		"System.ApplicationException":                                "System.Exception",
		"System.ArgumentException":                                   system,
		"System.OutOfMemoryException":                                system,
		"System.ArgumentNullException":                               argument,
		"System.ArgumentOutOfRangeException":                         argument,
		"System.ArithmeticException":                                 system,
		"System.DivideByZeroException":                               arithmetic,
		"System.OverflowException":                                   arithmetic,
		"System.FormatException":                                     system,
		"System.UriFormatException":                                  "System.FormatException",
		"System.IndexOutOfRangeException":                            system,
		"System.InvalidCastException":                                system,
		"System.InvalidOperationException":                           system,
		"System.ObjectDisposedException":                             operation,
		"System.NotImplementedException":                             system,
		"System.NotSupportedException":                               system,
		"System.TimeoutException":                                    system,
		"System.Security.SecurityException":                          system,
		"System.UnauthorizedAccessException":                         system,
		"System.IO.IOException":                                      system,
		"System.IO.FileNotFoundException":                            io,
		"System.IO.DirectoryNotFoundException":                       io,
		"System.ComponentModel.Win32Exception":                       system,
		"System.Net.HttpListenerException":                           win32,
		"System.Net.Sockets.SocketException":                         win32,
		"System.Net.ProtocolViolationException":                      operation,
		"System.Net.WebException":                                    operation,
		RuntimeException:                                             system,
		"Microsoft.PowerShell.Commands.WriteErrorException":          system,
		invocationException:                                          RuntimeException,
		BindingException:                                             RuntimeException,
		TransformationException:                                      BindingException,
		ValidationException:                                          BindingException,
		NotFoundException:                                            RuntimeException,
		"Microsoft.PowerShell.Cmdletization.Cim.CimJobException":     RuntimeException,
		"System.Management.Automation.ActionPreferenceStopException": RuntimeException,
		CommandException:                                             RuntimeException,
		MethodException:                                              RuntimeException,
		RemoteException:                                              RuntimeException,
		NoPropertyException:                                          RuntimeException,
		DepthException:                                               system,
		ParseException:                                               RuntimeException,
		sessionException:                                             RuntimeException,
	}
}

// ExceptionName returns the full name of a known exception, "" for others.
func ExceptionName(name string) string { return exceptionNames()[words.TypeName(name)] }

// exceptionNames are the classes of exceptions by their names as types are compared.
//
//nolint:gochecknoglobals // They are made once, and are the same for all.
var exceptionNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for known := range exceptions() {
		names[words.TypeName(known)] = known
	}
	return names
})

// Is reports whether the exception, or the one within it, is of a type or derived from it.
func (r *ErrorRecord) Is(class string) bool {
	for ; r != nil; r = r.inner {
		if slices.ContainsFunc(r.own, func(name string) bool { return strings.EqualFold(name, class) }) {
			return true
		}
		for name := cmp.Or(r.Class, RuntimeException); name != ""; name = exceptions()[name] {
			if name == class {
				return true
			}
		}
	}
	return class == "System.Exception"
}

// RecordName is the name of the class ErrorRecord.
const RecordName = "System.Management.Automation.ErrorRecord"

// RecordClass returns the class ErrorRecord, what $_ is in catch.
func RecordClass() *Class {
	of := func(get func(r *ErrorRecord) Value) func(*session.State, Value) (Value, error) {
		return func(_ *session.State, v Value) (Value, error) { return get(Own[*ErrorRecord](v)), nil }
	}

	return &Class{
		Name: RecordName,
		Make: &Method{
			Least: 4,
			Most:  4,
			Do:    newRecord,
		},
		Text: func(v any) string { return v.(*ErrorRecord).said() },
		Props: []Field{
			{Name: "Exception", Get: of(func(r *ErrorRecord) Value { return r.exception() })},
			{Name: "TargetObject", Get: of(func(r *ErrorRecord) Value { return r.Target })},
			{Name: "ErrorDetails", Get: of(func(r *ErrorRecord) Value {
				if r.Details == "" {
					return nil
				}
				return New("System.Management.Automation.ErrorDetails").Set("Message", r.Details)
			})},
			{Name: "FullyQualifiedErrorId", Get: of(func(r *ErrorRecord) Value { return r.fullID() })},
			{Name: "CategoryInfo", Get: of(func(r *ErrorRecord) Value { return &Instance{categoryClass(), r} })},
			{Name: "InvocationInfo", Get: of(func(r *ErrorRecord) Value { return r.invoked().Value() })},
			{Name: "ScriptStackTrace", Get: of(func(r *ErrorRecord) Value { return r.Trace })},
			{Name: "PipelineIterationInfo", Get: of(func(*ErrorRecord) Value { return []Value{} })},
			{Name: "PSMessageDetails", Get: of(func(*ErrorRecord) Value { return nil })},
		},
	}
}

// ErrorCategory returns the name of a category of errors.
func ErrorCategory(v Value) (string, error) {
	category, known := categoryType().Parsed(v)
	if !known {
		return "", Thrown("Cannot convert value %q to type \"System.Management.Automation.ErrorCategory\".", Text(v))
	}
	return category.Text(), nil
}

// newRecord makes an error record of an exception, an identifier, a category and the object that it is about
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorrecord.-ctor).
func newRecord(c *Call) (Value, error) {
	of := Own[*ErrorRecord](c.Arg(0))
	if of == nil {
		return nil, Raise("System.ArgumentNullException", "Value cannot be null.\nParameter name: exception")
	}

	category, err := ErrorCategory(c.Arg(2))
	if err != nil {
		return nil, err
	}

	r := *of
	r.ID = c.Text(1)
	r.Category = category
	r.Target = c.Arg(3)
	return &Instance{RecordClass(), &r}, nil
}

// ExceptionClass returns an exception's class.
func ExceptionClass(name string) *Class {
	name = cmp.Or(name, RuntimeException)
	return &Class{
		Name: name,
		Text: func(v any) string { return name + ": " + v.(*ErrorRecord).Message },
		Props: append(webFields(name), []Field{
			{
				Name: "Message",
				Get: func(_ *session.State, v Value) (Value, error) {
					return Own[*ErrorRecord](v).Message, nil
				},
			},
			{Name: "ParamName", Get: func(_ *session.State, v Value) (Value, error) {
				return Own[*ErrorRecord](v).parameter, nil
			}},
			{Name: "HResult", Get: func(*session.State, Value) (Value, error) { return int64(-2146233088), nil }},
			{Name: "StackTrace", Get: func(_ *session.State, v Value) (Value, error) {
				return Own[*ErrorRecord](v).Trace, nil
			}},
			{Name: "Source", Get: func(*session.State, Value) (Value, error) { return "System.Management.Automation", nil }},
			{Name: "Data", Get: func(*session.State, Value) (Value, error) { return NewTable(false), nil }},
			{
				Name: "InnerException",
				Get: func(_ *session.State, v Value) (Value, error) {
					if r := Own[*ErrorRecord](v); r.inner != nil {
						return r.inner.exception(), nil
					}
					return nil, nil
				},
			},
		}...),
		Methods: []Method{
			{
				Name: "GetType",
				Do: func(c *Call) (Value, error) {
					return TypeObject(name), nil
				},
			},
			{
				Name: "GetBaseException",
				Do: func(c *Call) (Value, error) {
					r := Own[*ErrorRecord](c.On)
					for r.inner != nil {
						r = r.inner
					}
					return r.exception(), nil
				},
			},
		},
	}
}

// NewException makes an exception by New-Object or ::new: of a message, and what it is about or the exception within.
func NewException(name string) *Method {
	return &Method{
		Most: 2,
		Do: func(c *Call) (Value, error) {
			r := &ErrorRecord{Message: fmt.Sprintf("Exception of type '%s' was thrown.", name), Class: name}
			if len(c.Args) > 0 {
				r.Message = c.Text(0)
			}

			inner := Own[*ErrorRecord](c.Arg(1))
			switch {
			case inner != nil:
				r.inner = inner
			case name == "System.ArgumentNullException" || name == "System.ArgumentOutOfRangeException":
				r.aboutParameter(c)
			case len(c.Args) == 2:
				r.parameter = c.Text(1)
				r.Message += "\nParameter name: " + r.parameter
			}

			return r.exception(), nil
		},
	}
}

// aboutParameter takes the name of a parameter, which comes before the message.
func (r *ErrorRecord) aboutParameter(c *Call) {
	if len(c.Args) == 0 {
		return
	}

	words := "Value cannot be null."
	if r.Class == "System.ArgumentOutOfRangeException" {
		words = "Specified argument was out of the range of valid values."
	}
	if len(c.Args) == 2 {
		words = c.Text(1)
	}

	r.parameter = c.Text(0)
	r.Message = words + "\nParameter name: " + r.parameter
}

// ArgumentException is the class of errors of an argument.
const ArgumentException = "System.ArgumentException"
