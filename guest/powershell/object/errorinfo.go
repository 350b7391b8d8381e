package object

import (
	"cmp"
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/session"
)

// shortClass is the name of the record's exception without its namespace.
func (r *ErrorRecord) shortClass() string {
	name := cmp.Or(r.Class, RuntimeException)
	if len(r.own) > 0 {
		name = r.own[0]
	}
	return name[strings.LastIndex(name, ".")+1:]
}

// fullID is FullyQualifiedErrorId: of a cmdlet's error it ends with the cmdlet's type
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorrecord.fullyqualifiederrorid).
func (r *ErrorRecord) fullID() string {
	id := r.ID
	if id == "" {
		id = strings.TrimPrefix(r.shortClass(), "ParentContainsErrorRecord")
		if r.Class == invocationException && r.inner != nil {
			id = r.inner.shortClass()
		}
	}
	verb, noun, isCmdlet := strings.Cut(r.Activity, "-")
	if !isCmdlet {
		return id
	}
	return id + ",Microsoft.PowerShell.Commands." + verb + noun + "Command"
}

// categoryName is the category of an error that has none: by its exception.
func (r *ErrorRecord) categoryName() string {
	switch {
	case r.Category != "":
		return r.Category
	case r.Is("System.UnauthorizedAccessException"), r.Is("System.Security.SecurityException"):
		return "PermissionDenied"
	case r.Is(NotFoundException), r.Is("System.IO.FileNotFoundException"), r.Is("System.IO.DirectoryNotFoundException"):
		return ObjectNotFound
	case r.Is(BindingException), r.Is("System.ArgumentException"):
		return invalidArgument
	}
	return notSpecified
}

// targetText is what an error is about, as CategoryInfo has it.
func (r *ErrorRecord) targetText() (name, kind string) {
	if r.Target == nil {
		return "", ""
	}
	kind = TypeName(r.Target)
	if r.ID == NoTypeID {
		kind = "TypeName"
	}
	return Text(r.Target), kind[strings.LastIndex(kind, ".")+1:]
}

// categoryClass is CategoryInfo of an error
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorcategoryinfo).
func categoryClass() *Class {
	of := func(name string, get func(r *ErrorRecord) Value) Field {
		return Field{
			Name: name,
			Get: func(_ *session.State, v Value) (Value, error) {
				return get(Own[*ErrorRecord](v)), nil
			},
		}
	}
	return &Class{
		Name: "System.Management.Automation.ErrorCategoryInfo",
		Text: func(v any) string { return v.(*ErrorRecord).categoryLine() },
		Props: []Field{
			of("Category", func(r *ErrorRecord) Value { return r.categoryName() }),
			of("Activity", func(r *ErrorRecord) Value { return r.Activity }),
			of("Reason", func(r *ErrorRecord) Value { return r.shortClass() }),
			of("TargetName", func(r *ErrorRecord) Value { name, _ := r.targetText(); return name }),
			of("TargetType", func(r *ErrorRecord) Value { _, kind := r.targetText(); return kind }),
		},
	}
}

// categoryLine is CategoryInfo as a line: "ObjectNotFound: (x:String) [], CommandNotFoundException".
func (r *ErrorRecord) categoryLine() string {
	name, kind := r.targetText()
	if runes := []rune(name); len(runes) > 40 { // as much as PowerShell shows
		name = string(runes[:18]) + "..." + string(runes[len(runes)-18:])
	}
	return fmt.Sprintf("%s: (%s:%s) [%s], %s", r.categoryName(), name, kind, r.Activity, r.shortClass())
}

// invocation is InvocationInfo: where the error was made.
func (r *ErrorRecord) invocation() *Object {
	line := int64(0)
	if _, at, found := strings.Cut(r.Trace, ": line "); found {
		at, _, _ = strings.Cut(at, "\n")
		line, _ = parseInteger(strings.TrimSpace(at)) // 0 if it is not known
	}
	_, file, _ := strings.Cut(r.Trace, ", ")
	file, _, _ = strings.Cut(file, ": line ")
	if file == "<No file>" {
		file = ""
	}
	return New(Custom).Set("ScriptLineNumber", line).Set("ScriptName", file).Set("MyCommand", r.Activity).
		Set("PositionMessage", fmt.Sprintf("At %s:%d char:1", cmp.Or(file, "line"), line)).
		Set("InvocationName", r.Activity)
}
