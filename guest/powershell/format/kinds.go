package format

import (
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

// SelectedText returns a line that Select-String found, as it is shown: with the lines around it if they were asked
// for, where > is before the line itself.
func SelectedText(o *object.Object) string {
	prefix := func(number int64) string {
		if object.Text(o.Props["path"]) == "InputStream" {
			return ""
		}
		return object.Text(o.Props["filename"]) + ":" + strconv.FormatInt(number, 10) + ":"
	}

	number, _ := o.Props["linenumber"].(int64)
	line := prefix(number) + object.Text(o.Props["line"])
	context, is := o.Props["context"].(*object.Object)
	if !is {
		return line
	}

	before := object.Items(context.Props["displayprecontext"])
	lines := make([]string, 0, len(before)+1)
	for i, text := range before {
		lines = append(lines, "  "+prefix(number-int64(len(before)-i))+object.Text(text))
	}
	lines = append(lines, "> "+line)
	for i, text := range object.Items(context.Props["displaypostcontext"]) {
		lines = append(lines, "  "+prefix(number+int64(i+1))+object.Text(text))
	}

	return strings.Join(lines, "\n")
}

// PingKind is the kind of answers to pings, UpdateKind that of Windows' updates.
const (
	PingKind   = "ping"
	UpdateKind = "update"
)

// SMBKind is the kind of the objects that are mappings.
const SMBKind = "SMB mapping"
