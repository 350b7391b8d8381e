package object

import (
	"errors"
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/absent"
	"mullion.dev/mullion/guest/powershell/words"
)

// PowerShell is bound late: what a statement names is looked for when the statement runs. What is not there is an error
// of this statement, which try catches and $ErrorActionPreference rules
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_try_catch_finally).

// The identifiers of errors of what is not there, as Windows PowerShell gives them.
const (
	NoCommandID   = "CommandNotFoundException"
	NoTypeID      = "TypeNotFound"
	noMethodID    = "MethodNotFound"
	NoParameterID = "NamedParameterNotFound"
	AmbiguousID   = "AmbiguousParameter"
	NoArgumentID  = "MissingArgument"
	NoPositionID  = "PositionalParameterNotFound"
	NoMandatoryID = "MissingMandatoryParameter"
	readOnlyID    = "VariableNotWritable"
	NoPropertyID  = "PropertyNotFoundStrict"
)

// The categories of errors
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorcategory).
const (
	notSpecified     = "NotSpecified"
	ObjectNotFound   = "ObjectNotFound"
	invalidArgument  = "InvalidArgument"
	InvalidOperating = "InvalidOperation"
	OperationStopped = "OperationStopped"
	writeCategory    = "WriteError"
	ParserError      = "ParserError"
)

// UpperFirst returns a text with a capital letter.
func UpperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// NoType returns the error of a type of .NET that is not here.
func NoType(name string) error {
	return &Exception{
		Class:    RuntimeException,
		ID:       NoTypeID,
		Category: InvalidOperating,
		Target:   name,
		Message:  fmt.Sprintf("Unable to find type [%s].%s", name, absent.Elsewhere(name)),
	}
}

// NoTypeToMake returns the error of New-Object for a type that is not here, or of which no object can be made.
func NoTypeToMake(name string) error {
	why := absent.Elsewhere(name)
	if why == "" {
		why = fmt.Sprintf(" New-Object %s is %s.", name, words.NotHere)
	}
	return &Exception{
		Class:    "System.Management.Automation.PSArgumentException",
		ID:       NoTypeID,
		Category: "InvalidType",
		Message:  fmt.Sprintf("Cannot find type [%s]: verify that the assembly containing this type is loaded.%s", name, why),
	}
}

// NoModule returns the error of a module that is in none of the folders of modules.
func NoModule(name string) error {
	message := fmt.Sprintf("The specified module '%s' was not loaded because no valid module file was found in any module "+
		"directory.", name)
	if absent.Module(name) {
		message += fmt.Sprintf(" The module %s is %s.", name, words.NotHere)
	}

	return &Exception{
		Class:    "System.IO.FileNotFoundException",
		ID:       "Modules_ModuleNotFound",
		Category: "ResourceUnavailable",
		Target:   name,
		Message:  message,
	}
}

// IsNoType reports whether an error is that of a type that is not here.
func IsNoType(err error) bool {
	e, ok := errors.AsType[*Exception](err)
	return ok && e.ID == NoTypeID
}

// NoMethod returns the error of a method that an object does not have.
func NoMethod(of, name string, args int) error {
	return &Exception{
		Class:    RuntimeException,
		ID:       noMethodID,
		Category: InvalidOperating,
		Target:   name,
		Message: fmt.Sprintf("Method invocation failed because [%s] does not contain a method named '%s'. "+
			"The method %[2]q with %[3]d arguments is %[4]s.", of, name, args, words.NotHere),
	}
}

// NoMember returns the error of a static member that a type does not have here.
func NoMember(of, name string) error {
	return &Exception{
		Class:    RuntimeException,
		ID:       NoPropertyID,
		Category: InvalidOperating,
		Target:   name,
		Message:  fmt.Sprintf("[%s]::%s is %s.", of, name, words.NotHere),
	}
}

// Misfit returns the error of a call whose parameters cannot be bound.
func Misfit(id, format string, args ...any) error {
	return &Exception{
		Class:    BindingException,
		ID:       id,
		Category: invalidArgument,
		Message:  UpperFirst(strings.TrimSuffix(fmt.Sprintf(format, args...), ".")) + ".",
	}
}

// ReadOnly returns the error of setting a variable that nobody can set.
func ReadOnly(name string) error {
	return &Exception{
		Class:    "System.Management.Automation.SessionStateUnauthorizedAccessException",
		ID:       readOnlyID,
		Category: writeCategory,
		Target:   name,
		Message:  "Cannot overwrite variable " + name + " because it is read-only or constant.",
	}
}
