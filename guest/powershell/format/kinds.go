package format

import "mullion.dev/mullion/guest/powershell/object"

// SelectedText returns a line that Select-String found, as it is shown.
func SelectedText(o *object.Object) string {
	line := object.Text(o.Props["line"])
	if object.Text(o.Props["path"]) == "InputStream" {
		return line
	}
	return object.Text(o.Props["filename"]) + ":" + object.Text(o.Props["linenumber"]) + ":" + line
}

// PingKind is the kind of answers to pings, UpdateKind that of Windows' updates.
const (
	PingKind   = "ping"
	UpdateKind = "update"
)

// SMBKind is the kind of the objects that are mappings.
const SMBKind = "SMB mapping"
