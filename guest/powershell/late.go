package powershell

import (
	"fmt"
	"slices"
	"strings"
)

// PowerShell is bound late: what a statement names is looked for when the statement runs. What is not there is an error
// of this statement, which try catches and $ErrorActionPreference rules
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_try_catch_finally).

// The identifiers of errors of what is not there, as Windows PowerShell gives them.
const (
	noCommandID   = "CommandNotFoundException"
	noTypeID      = "TypeNotFound"
	noMethodID    = "MethodNotFound"
	noParameterID = "NamedParameterNotFound"
	ambiguousID   = "AmbiguousParameter"
	noArgumentID  = "MissingArgument"
	noPositionID  = "PositionalParameterNotFound"
	noMandatoryID = "MissingMandatoryParameter"
	readOnlyID    = "VariableNotWritable"
)

// The categories of errors
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorcategory).
const (
	notSpecified     = "NotSpecified"
	objectNotFound   = "ObjectNotFound"
	invalidArgument  = "InvalidArgument"
	invalidOperating = "InvalidOperation"
	operationStopped = "OperationStopped"
	writeCategory    = "WriteError"
	parserError      = "ParserError"
)

// lateX is an expression, the whole of which is an error when it is reached.
type lateX struct{ what string }

func (x *lateX) check(c *checker) { c.lack("%s is %s", x.what, notHereWords) }

func (x *lateX) value(*frame) (value, error) { return nil, x.err() } //nolint:unparam // as of any expression

func (x *lateX) err() error {
	return &exception{
		class: runtimeException, id: "NotImplemented", category: "NotImplemented",
		message: upperFirst(x.what) + " is " + notHereWords + ".",
	}
}

// lateStmt is a statement, the whole of which is an error when it is reached.
type lateStmt struct {
	lateX
	line int
}

func (s *lateStmt) check(c *checker) {
	c.at(s.line)
	s.lateX.check(c)
}

func (s *lateStmt) run(f *frame, _ *sink) error {
	f.in.at(s.line)
	return s.err()
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// noCommand is the error of a command that is neither a cmdlet here, nor a function, a script file or a program.
func noCommand(word string) error {
	const message = "The term '%s' is not recognized as the name of a cmdlet, function, script file, or operable program. " +
		"Check the spelling of the name, or if a path was included, verify that the path is correct and try again."
	r := &record{
		message: fmt.Sprintf(message, word), class: commandException, target: word,
		id: noCommandID, category: objectNotFound,
	}
	if err := unknown(word); err != nil {
		r.message += " In Mullion: " + err.Error() + "."
	}
	r.shown = word + " : " + r.message
	return &leaving{word: "throw", statement: true, what: &instance{recordClass(), r}}
}

// noType is the error of a type of .NET that is not here.
func noType(name string) error {
	return &exception{
		class: runtimeException, id: noTypeID, category: invalidOperating, target: name,
		message: fmt.Sprintf("Unable to find type [%s].%s", name, elsewhere(name)),
	}
}

// elsewhere says of the name of a type that Windows has it, if its namespace is one of Windows' own.
func elsewhere(name string) string {
	space, _, _ := strings.Cut(full(name), ".")
	_, inSystem := strings.CutPrefix(lower(name), "system.")
	spaces := []string{
		"collections", "componentmodel", "configuration", "data", "diagnostics", "directoryservices", "drawing",
		"globalization", "io", "management", "media", "microsoft", "net", "reflection", "resources", "runtime", "security",
		"serviceprocess", "text", "threading", "timers", "web", "windows", "xml",
	}
	if inSystem || slices.Contains(spaces, space) || slices.Contains(accelerators(), lower(name)) {
		return fmt.Sprintf(" The type [%s] is %s.", name, notHereWords)
	}
	return ""
}

// accelerators are names of types that are PowerShell's own
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_type_accelerators), as far
// as the types are not here.
func accelerators() []string {
	return []string{
		"adsi", "adsisearcher", "bigint", "cimclass", "cimconverter", "ciminstance", "cimsession", "cimtype",
		"cultureinfo", "decimal", "float", "initialsessionstate", "int16", "ipendpoint", "mailaddress", "physicaladdress",
		"powershell", "pslistmodifier", "psmoduleinfo", "psprimitivedictionary", "psreference", "pstypenameattribute",
		"psvariable", "ref", "runspace", "runspacefactory", "sbyte", "securestring", "short", "single", "type", "uint16",
		"uint64", "ulong", "ushort", "wmi", "wmiclass", "wmisearcher", "x500distinguishedname", "x509certificate", "xml",
	}
}

// noMethod is the error of a method that an object does not have.
func noMethod(of, name string, args int) error {
	return &exception{
		class: runtimeException, id: noMethodID, category: invalidOperating, target: name,
		message: fmt.Sprintf("Method invocation failed because [%s] does not contain a method named '%s'. "+
			"The method %[2]q with %[3]d arguments is %[4]s.", of, name, args, notHereWords),
	}
}

// noMember is the error of a static member that a type does not have here.
func noMember(of, name string) error {
	return &exception{
		class: runtimeException, id: "PropertyNotFoundStrict", category: invalidOperating, target: name,
		message: fmt.Sprintf("[%s]::%s is %s.", of, name, notHereWords),
	}
}

// misfit is the error of a call whose parameters cannot be bound.
func misfit(id, format string, args ...any) error {
	return &exception{
		class: bindingException, id: id, category: invalidArgument,
		message: upperFirst(strings.TrimSuffix(fmt.Sprintf(format, args...), ".")) + ".",
	}
}

// readOnly is the error of setting a variable that nobody can set.
func readOnly(name string) error {
	return &exception{
		class: "System.Management.Automation.SessionStateUnauthorizedAccessException",
		id:    readOnlyID, category: writeCategory, target: name,
		message: "Cannot overwrite variable " + name + " because it is read-only or constant.",
	}
}
