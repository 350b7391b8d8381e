package format

import (
	"fmt"
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

// DriveKind is the kind of the drives of Get-PSDrive.
const DriveKind = "drive of the session"

// driveRow is a row of their table, with 5.1's widths.
const driveRow = "%-10s %13s %13s %-13s %-50s %s"

// driveLine returns a drive's row: sizes are in GB, the provider without its snap-in.
func driveLine(o *object.Object) string {
	gigabytes := func(name string) string {
		n, is := o.Props[name].(int64)
		if !is {
			return ""
		}
		return strconv.FormatFloat(float64(n)/(1<<30), 'f', 2, 64)
	}
	provider := object.Text(o.Props["psprovider"])
	return strings.TrimRight(fmt.Sprintf(driveRow, shortened(object.Text(o.Props["name"]), 10), gigabytes("used"),
		gigabytes("free"), shortened(provider, 13), shortened(object.Text(o.Props["root"]), 50),
		object.Text(o.Props["currentlocation"])), " ")
}

// SMBKind is the kind of the objects that are mappings.
const SMBKind = "SMB mapping"
