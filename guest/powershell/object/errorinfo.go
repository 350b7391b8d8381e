package object

import (
	"cmp"
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/session"
)

// shortClass returns the name of the record's exception without its namespace.
func (r *ErrorRecord) shortClass() string {
	name := cmp.Or(r.Class, RuntimeException)
	if len(r.own) > 0 {
		name = r.own[0]
	}
	return name[strings.LastIndex(name, ".")+1:]
}

// FromCIM is what the ID of an error begins with that a command has which asks CIM.
const FromCIM = "CmdletizationQuery_"

// fullID returns FullyQualifiedErrorId: of a command's error it ends with the command
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorrecord.fullyqualifiederrorid).
func (r *ErrorRecord) fullID() string {
	id := r.ID
	if id == "" {
		id = strings.TrimPrefix(r.shortClass(), "ParentContainsErrorRecord")
		if r.Class == invocationException && r.inner != nil {
			id = r.inner.shortClass()
		}
	}

	switch {
	case r.By == nil:
		return id
	case strings.HasPrefix(id, FromCIM): // on Windows the command is a function, which a module has of its .cdxml
		return id + "," + r.By.Command
	}

	return id + r.By.implementing()
}

// categoryName returns the category of an error that has none: by its exception.
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

// targetText returns what an error is about, as CategoryInfo has it.
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

// categoryClass returns the class of an error's CategoryInfo
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
			of("Activity", func(r *ErrorRecord) Value { return r.activity() }),
			of("Reason", func(r *ErrorRecord) Value { return r.shortClass() }),
			of("TargetName", func(r *ErrorRecord) Value { name, _ := r.targetText(); return name }),
			of("TargetType", func(r *ErrorRecord) Value { _, kind := r.targetText(); return kind }),
		},
	}
}

// categoryLine returns CategoryInfo as a line: "ObjectNotFound: (x:String) [], CommandNotFoundException".
func (r *ErrorRecord) categoryLine() string {
	name, kind := r.targetText()
	const most, half = 40, 15 // as much as Windows PowerShell shows; PowerShell 7 shows more
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:half]) + "..." + string(runes[len(runes)-half:])
	}
	return fmt.Sprintf("%s: (%s:%s) [%s], %s", r.categoryName(), name, kind, r.activity(), r.shortClass())
}

// activity returns what was done, as CategoryInfo has it.
func (r *ErrorRecord) activity() string {
	if r.Activity == "" && r.By != nil {
		return r.By.Command
	}
	return r.Activity
}

// invoked returns InvocationInfo: where the error was made, and by which command.
func (r *ErrorRecord) invoked() *Invoked {
	i := Invoked{}
	if r.By != nil {
		i = *r.By
	}
	if r.At.Known() {
		i.At = r.At
	}
	return &i
}

// said is an error as text: its details, if it has some.
func (r *ErrorRecord) said() string { return cmp.Or(r.Details, r.Message) }

// categoryView is the name of $ErrorView for which an error is its category.
const categoryView = "categoryview"

// Lines returns the error as Windows PowerShell 5.1 shows it: the command's name and the message, where it was made,
// and what kind of error it is; or what $ErrorView, in lower case, says
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_preference_variables#errorview).
func (r *ErrorRecord) Lines(newline, view string) string {
	if view == categoryView {
		return r.categoryLine()
	}

	by := r.invoked()
	lines := strings.Split(strings.ReplaceAll(by.prefix()+r.said(), "\r\n", "\n"), "\n")
	inMessage := r.Category == ParserError && by.Kind == "" // the message says it already
	if at := by.At.Message(newline); at != "" && !inMessage {
		lines = append(lines, at)
	}

	return strings.Join(append(lines,
		"    + CategoryInfo          : "+r.categoryLine(),
		"    + FullyQualifiedErrorId : "+r.fullID(),
		" "), newline)
}
