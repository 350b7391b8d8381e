package jobs

import (
	"fmt"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// using matches the variables of the caller in a job's block.
var using = lazyregexp.New(`(?i)\$using:(\w+)`)

// jobText returns the script of a job: the variables of the caller that it uses, what initializes it, and its block
// with its arguments and its input.
func jobText(c *cmdlet.Call, b *object.ScriptBlock) string {
	var text strings.Builder
	seen := map[string]bool{}
	for _, m := range using.FindAllStringSubmatch(b.Words, -1) {
		if name := strings.ToLower(m[1]); !seen[name] {
			seen[name] = true
			v, _ := c.Scope.Drive("variable").Content(name)
			text.WriteString("${" + name + "} = " + literal(v, 0) + "\n")
		}
	}
	if first, is := c.Values["initializationscript"].(*object.ScriptBlock); is {
		text.WriteString(first.Words + "\n")
	}

	input := c.Input
	if v, given := c.Values[cmdlet.ObjectName]; given {
		input = object.Items(v)
	}
	arguments := object.Items(c.Values["argumentlist"])
	if len(arguments) == 0 && len(input) == 0 && text.Len() == 0 {
		return b.Words
	}
	if len(input) > 0 {
		text.WriteString(literal(input, 0) + " | ")
	}
	text.WriteString("& {" + b.Words + "\n}")
	for _, v := range arguments {
		text.WriteString(" " + literal(v, 0))
	}

	return text.String()
}

// mostLiteral is how deep a value within values is written for a job.
const mostLiteral = 10

// quoted returns a text between apostrophes.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// literal returns a value as a script writes it: an object is one of its properties, what else is no text, number,
// time, list or table is its text.
func literal(v object.Value, depth int) string {
	v = object.Plain(v)
	switch v := v.(type) {
	case nil:
		return "$null"
	case bool:
		return "$" + strings.ToLower(object.Text(v))
	case int64, float64:
		return "(" + object.Text(v) + ")"
	case object.DateTime:
		return "([datetime]::Parse(" + quoted(v.At.Format(time.RFC3339Nano)) + "))"
	case *object.ScriptBlock:
		return "{" + v.Words + "}"
	case *object.Instance:
		if d, is := v.V.(time.Duration); is && v.Of.Name == object.SpanName {
			return fmt.Sprintf("([timespan]::FromMilliseconds(%d))", d.Milliseconds())
		}
	}

	if depth > mostLiteral {
		return quoted(object.Text(v))
	}
	return literalOfMany(v, depth)
}

// literalOfMany returns a value that has others as a script writes it.
func literalOfMany(v object.Value, depth int) string {
	switch v := v.(type) {
	case []object.Value, object.Range, *object.ArrayList:
		var items []string
		for item := range object.Each(v) {
			items = append(items, literal(item, depth+1))
		}
		return "@(" + strings.Join(items, ", ") + ")"

	case *object.Hashtable:
		var items []string
		for _, k := range v.Keys {
			items = append(items, quoted(object.Text(k))+" = "+literal(v.Get(k), depth+1))
		}
		return "@{" + strings.Join(items, "; ") + "}"

	case *object.Object:
		var items []string
		for _, name := range object.PropertyNames(v) {
			got, err := object.Property(v, strings.ToLower(name))
			if err != nil {
				got = nil
			}
			items = append(items, quoted(name)+" = "+literal(got, depth+1))
		}
		return "([pscustomobject]@{" + strings.Join(items, "; ") + "})"
	}

	return quoted(object.Text(v))
}
