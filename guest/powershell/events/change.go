package events

import "mullion.dev/mullion/guest/powershell/object"

// The kinds of changes, as System.IO.WatcherChangeTypes numbers them
// (https://learn.microsoft.com/en-us/dotnet/api/system.io.watcherchangetypes).
const (
	created = 1
	deleted = 2
	changed = 4
	renamed = 8
	all     = 15
)

// change is one that a watcher saw, by its name below the folder.
type change struct {
	kind      int64
	name, old string
}

// changesName is the enumeration of kinds of changes, without the System before it.
const changesName = "IO.WatcherChangeTypes"

func kindOf(kind int64) object.Value { return object.Enum{Of: object.EnumOf(changesName), N: kind} }
