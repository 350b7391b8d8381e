package powershell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// exception is an error of .NET or PowerShell that ends one statement. try catches it; elsewhere it is printed, and
// the script goes on with the next statement.
type exception struct {
	class, message string
	id, category   string // as a record has them, or ""
	target         value
	trace          string // where it was raised
	status         int    // of the HTTP answer that it is about, 0 if there is none
}

// Error is the exception's message.
func (e *exception) Error() string { return e.message }

func raise(class, message string) error { return &exception{class: class, message: message} }

const (
	runtimeException    = "System.Management.Automation.RuntimeException"
	invocationException = "System.Management.Automation.MethodInvocationException"
	bindingException    = "System.Management.Automation.ParameterBindingException"
	commandException    = "System.Management.Automation.CommandNotFoundException"
	notFoundException   = "System.Management.Automation.ItemNotFoundException"
	remoteException     = "System.Management.Automation.RemoteException"
	depthException      = "System.Management.Automation.ScriptCallDepthException"
	parseException      = "System.Management.Automation.ParseException"
	sessionException    = "System.Management.Automation.SessionStateUnauthorizedAccessException"
	noPropertyException = "System.Management.Automation.PropertyNotFoundException"
)

// record is an error as catch sees it.
type record struct {
	message string
	shown   string // how it is printed, if not as message
	class   string // of its exception, "" if it is not known
	// id is FullyQualifiedErrorId, "" for the name of its exception. category and activity, the cmdlet, are those of
	// CategoryInfo.
	id, category, activity string

	target value
	inner  *record
	trace  string // the calls within which it was made, see interpreter.trace
	status int    // of the HTTP answer that a WebException is about, 0 if there is none
}

// outer is the record of the exception that PowerShell makes of one of a method.
func (r *record) outer(message string) *instance {
	return &instance{recordClass(), &record{message: message, class: invocationException, inner: r}}
}

// notHereWords are in each message about what is not implemented.
const notHereWords = "not part of Mullion's PowerShell"

// catchable reports whether try catches an error.
func catchable(err error) bool {
	left, ok := errors.AsType[*leaving](err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case ok:
		return left.word == "throw"
	}
	_, ok = errors.AsType[*exception](err)
	return ok
}

// endsStatement reports whether an error ends one statement, not the script.
func endsStatement(err error) bool {
	if left, ok := errors.AsType[*leaving](err); ok {
		return left.word == "throw" && (left.statement || left.own)
	}
	_, ok := errors.AsType[*exception](err)
	return ok
}

// recordOf is the record of an error.
func recordOf(err error) *record {
	if left, ok := errors.AsType[*leaving](err); ok {
		return thrownRecord(left)
	}
	r := &record{message: err.Error()}
	if e, ok := errors.AsType[*exception](err); ok {
		r.class, r.trace, r.status = e.class, e.trace, e.status
		r.id, r.category, r.target = e.id, e.category, e.target
	} else if errors.Is(err, fs.ErrNotExist) {
		r.class = "System.IO.FileNotFoundException"
	}
	return r
}

func thrownRecord(left *leaving) *record {
	switch what := left.what.(type) {
	case *instance:
		if r := own[*record](what); r != nil {
			return r
		}
	case *record:
		return what
	}
	r := &record{message: text(left.what), target: left.what, trace: left.trace}
	if r.class = runtimeException; !left.own { // of a throw
		r.id, r.category = r.message, operationStopped
	}
	return r
}

// text is how the error is printed.
func (r *record) text() string {
	if r.shown != "" {
		return r.shown
	}
	return r.message
}

// exception is the exception as an object.
func (r *record) exception() *instance { return &instance{exceptionClass(r.class), r} }

// mostErrors is how many errors $Error keeps, as $MaximumErrorCount has it.
const mostErrors = 256

// note puts an error into $Error.
func (in *interpreter) note(r *record) {
	all := append([]value{&instance{recordClass(), r}}, in.failures.items...)
	in.failures.items = all[:min(len(all), mostErrors)]
}

// exceptions are the implemented exceptions, each with the one that it is derived from.
func exceptions() map[string]string {
	const system, argument, io = "System.SystemException", "System.ArgumentException", "System.IO.IOException"
	const operation, arithmetic = "System.InvalidOperationException", "System.ArithmeticException"
	const win32 = "System.ComponentModel.Win32Exception"
	return map[string]string{
		"System.Exception":                                           "",
		"System.SystemException":                                     "System.Exception",
		"System.ApplicationException":                                "System.Exception",
		"System.ArgumentException":                                   system,
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
		runtimeException:                                             system,
		invocationException:                                          runtimeException,
		bindingException:                                             runtimeException,
		notFoundException:                                            runtimeException,
		"Microsoft.PowerShell.Cmdletization.Cim.CimJobException":     runtimeException,
		"System.Management.Automation.ActionPreferenceStopException": runtimeException,
		commandException:                                             runtimeException,
		remoteException:                                              runtimeException,
		noPropertyException:                                          runtimeException,
		depthException:                                               system,
		parseException:                                               runtimeException,
		sessionException:                                             runtimeException,
	}
}

// exceptionName is the full name of a known exception, "" for others.
func exceptionName(name string) string {
	for known := range exceptions() {
		if full(known) == full(name) {
			return known
		}
	}
	return ""
}

// is reports whether the exception, or the one within it, is of a type or derived from it.
func (r *record) is(class string) bool {
	for ; r != nil; r = r.inner {
		for name := cmp.Or(r.class, runtimeException); name != ""; name = exceptions()[name] {
			if name == class {
				return true
			}
		}
	}
	return class == "System.Exception"
}

// recordClass is ErrorRecord, what $_ is in catch.
func recordClass() *class {
	of := func(get func(r *record) value) func(*frame, value) (value, error) {
		return func(_ *frame, v value) (value, error) { return get(own[*record](v)), nil }
	}
	return &class{
		name: "System.Management.Automation.ErrorRecord",
		text: func(v any) string { return v.(*record).message },
		line: func(v any) string { return v.(*record).text() },
		props: []field{
			{name: "Exception", get: of(func(r *record) value { return r.exception() })},
			{name: "TargetObject", get: of(func(r *record) value { return r.target })},
			{name: "ErrorDetails", get: of(func(*record) value { return nil })},
			{name: "FullyQualifiedErrorId", get: of(func(r *record) value { return r.fullID() })},
			{name: "CategoryInfo", get: of(func(r *record) value { return &instance{categoryClass(), r} })},
			{name: "InvocationInfo", get: of(func(r *record) value { return r.invocation() })},
			{name: "ScriptStackTrace", get: of(func(r *record) value { return r.trace })},
		},
	}
}

// exceptionClass is an exception's class.
func exceptionClass(name string) *class {
	name = cmp.Or(name, runtimeException)
	return &class{
		name: name,
		text: func(v any) string { return name + ": " + v.(*record).message },
		props: append(webFields(name), []field{
			{name: "Message", get: func(_ *frame, v value) (value, error) { return own[*record](v).message, nil }},
			{name: "InnerException", get: func(_ *frame, v value) (value, error) {
				if r := own[*record](v); r.inner != nil {
					return r.inner.exception(), nil
				}
				return nil, nil
			}},
		}...),
		methods: []routine{
			{name: "GetType", do: func(c *dotCall) (value, error) {
				return typeObject(name), nil
			}},
			{name: "GetBaseException", do: func(c *dotCall) (value, error) {
				r := own[*record](c.on)
				for r.inner != nil {
					r = r.inner
				}
				return r.exception(), nil
			}},
		},
	}
}

// newException makes an exception by New-Object or ::new.
func newException(name string) *routine {
	return &routine{most: 1, do: func(c *dotCall) (value, error) {
		message := fmt.Sprintf("Exception of type '%s' was thrown.", name)
		if len(c.args) > 0 {
			message = c.text(0)
		}
		r := &record{message: message, class: name}
		return r.exception(), nil
	}}
}

// typeObject is a type as GetType returns it.
func typeObject(name string) *object {
	short := name[strings.LastIndex(name, ".")+1:]
	o := newObject("type").set("Name", short).set("FullName", name)
	o.props["namespace"] = strings.TrimSuffix(strings.TrimSuffix(name, short), ".")
	return o
}

// tryStmt is try { … } catch { … } finally { … }.
type tryStmt struct {
	body    block
	catches []catch
	last    block // of finally
	always  bool  // there is a finally
}

// catch is a block for errors of some types, or of all if it names none.
type catch struct {
	types []string
	body  block
}

func (s *tryStmt) check(c *checker) {
	s.body.check(c)
	for _, one := range s.catches {
		one.body.check(c)
	}
	s.last.check(c)
}

func (s *tryStmt) run(f *frame, out *sink) error {
	f.in.tries++
	err := s.body.run(f, out)
	f.in.tries--
	if err != nil && catchable(err) {
		err = s.catch(f, err, out)
	}
	if !s.always {
		return err
	}
	if last := s.last.run(f, out); last != nil {
		return last
	}
	return err
}

// catch runs the first block that is for the error's type.
func (s *tryStmt) catch(f *frame, err error, out *sink) error {
	r := f.in.recordHere(err)
	for _, one := range s.catches {
		if len(one.types) > 0 && !slices.ContainsFunc(one.types, r.is) {
			continue
		}
		f.in.ok = true
		f.in.note(r)
		before, had := f.vars["_"]
		f.vars["_"] = &instance{recordClass(), r}
		f.in.caught = append(f.in.caught, err)
		err := one.body.run(f, out)
		f.in.caught = f.in.caught[:len(f.in.caught)-1]
		delete(f.vars, "_")
		if had {
			f.vars["_"] = before
		}
		return err
	}
	return err
}

// try reads what follows the word try.
func (p *parser) try() (stmt, error) {
	s := &tryStmt{}
	var err error
	if s.body, err = p.braces(); err != nil {
		return nil, err
	}
	for {
		begin := p.at
		p.space()
		switch word := p.keyword("catch", "finally"); {
		case word == "catch" && !s.always:
			one, err := p.catch()
			if err != nil {
				return nil, err
			}
			s.catches = append(s.catches, one)
		case word == "finally" && !s.always:
			s.always = true
			if s.last, err = p.braces(); err != nil {
				return nil, err
			}
		default:
			p.at = begin
			if len(s.catches) == 0 && !s.always {
				return nil, p.refuse("MissingCatchOrFinally",
					"The Try statement is missing its Catch or Finally block.")
			}
			return s, nil
		}
	}
}

func (p *parser) catch() (catch, error) {
	one := catch{}
	for {
		p.space()
		if p.peek() != '[' {
			break
		}
		name, err := p.typeName()
		if err != nil {
			return one, err
		}
		one.types = append(one.types, cmp.Or(exceptionName(name), name))
		p.space()
		if !p.take(",") {
			break
		}
	}
	var err error
	one.body, err = p.braces()
	return one, err
}
