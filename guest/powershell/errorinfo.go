package powershell

import (
	"cmp"
	"fmt"
	"strings"
)

// shortClass is the name of the record's exception without its namespace.
func (r *record) shortClass() string {
	name := cmp.Or(r.class, runtimeException)
	return name[strings.LastIndex(name, ".")+1:]
}

// fullID is FullyQualifiedErrorId: of a cmdlet's error it ends with the cmdlet's type
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorrecord.fullyqualifiederrorid).
func (r *record) fullID() string {
	id := r.id
	if id == "" {
		id = strings.TrimPrefix(r.shortClass(), "ParentContainsErrorRecord")
		if r.class == invocationException && r.inner != nil {
			id = r.inner.shortClass()
		}
	}
	verb, noun, isCmdlet := strings.Cut(r.activity, "-")
	if !isCmdlet {
		return id
	}
	return id + ",Microsoft.PowerShell.Commands." + verb + noun + "Command"
}

// categoryName is the category of an error that has none: by its exception.
func (r *record) categoryName() string {
	switch {
	case r.category != "":
		return r.category
	case r.is("System.UnauthorizedAccessException"), r.is("System.Security.SecurityException"):
		return "PermissionDenied"
	case r.is(notFoundException), r.is("System.IO.FileNotFoundException"), r.is("System.IO.DirectoryNotFoundException"):
		return objectNotFound
	case r.is(bindingException), r.is("System.ArgumentException"):
		return invalidArgument
	}
	return notSpecified
}

// targetText is what an error is about, as CategoryInfo has it.
func (r *record) targetText() (name, kind string) {
	if r.target == nil {
		return "", ""
	}
	kind = typeName(r.target)
	if r.id == noTypeID {
		kind = "TypeName"
	}
	return text(r.target), kind[strings.LastIndex(kind, ".")+1:]
}

// categoryClass is CategoryInfo of an error
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorcategoryinfo).
func categoryClass() *class {
	of := func(name string, get func(r *record) value) field {
		return field{name: name, get: func(_ *frame, v value) (value, error) { return get(own[*record](v)), nil }}
	}
	return &class{
		name: "System.Management.Automation.ErrorCategoryInfo",
		text: func(v any) string { return v.(*record).categoryLine() },
		props: []field{
			of("Category", func(r *record) value { return r.categoryName() }),
			of("Activity", func(r *record) value { return r.activity }),
			of("Reason", func(r *record) value { return r.shortClass() }),
			of("TargetName", func(r *record) value { name, _ := r.targetText(); return name }),
			of("TargetType", func(r *record) value { _, kind := r.targetText(); return kind }),
		},
	}
}

// categoryLine is CategoryInfo as a line: "ObjectNotFound: (x:String) [], CommandNotFoundException".
func (r *record) categoryLine() string {
	name, kind := r.targetText()
	if runes := []rune(name); len(runes) > 40 { // as much as PowerShell shows
		name = string(runes[:18]) + "..." + string(runes[len(runes)-18:])
	}
	return fmt.Sprintf("%s: (%s:%s) [%s], %s", r.categoryName(), name, kind, r.activity, r.shortClass())
}

// invocation is InvocationInfo: where the error was made.
func (r *record) invocation() *object {
	line := int64(0)
	if _, at, found := strings.Cut(r.trace, ": line "); found {
		at, _, _ = strings.Cut(at, "\n")
		line, _ = parseInteger(strings.TrimSpace(at)) // 0 if it is not known
	}
	_, file, _ := strings.Cut(r.trace, ", ")
	file, _, _ = strings.Cut(file, ": line ")
	if file == "<No file>" {
		file = ""
	}
	return newObject(custom).set("ScriptLineNumber", line).set("ScriptName", file).set("MyCommand", r.activity).
		set("PositionMessage", fmt.Sprintf("At %s:%d char:1", cmp.Or(file, "line"), line)).
		set("InvocationName", r.activity)
}
