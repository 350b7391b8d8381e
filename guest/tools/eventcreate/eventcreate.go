// Package eventcreate owns eventcreate.exe, which writes an event to a log.
package eventcreate

import (
	"fmt"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/eventlog"
	"mullion.dev/mullion/guest/tools/program"
)

// mostCreatedID is the largest identifier of an event of eventcreate; the first is 1.
const mostCreatedID = 1000

func createdTypes() map[string]uint16 {
	return map[string]uint16{
		"SUCCESS": eventlog.Success, "ERROR": eventlog.ErrorType, "WARNING": eventlog.Warning, "INFORMATION": eventlog.Information,
	}
}

// Run writes an event
// (https://learn.microsoft.com/windows-server/administration/windows-commands/eventcreate).
func Run(e program.Env, sys System, args []string) int {
	values := map[string]string{"l": "Application", "so": "EventCreate"}
	for i := 0; i < len(args); i++ {
		name, is := program.Option(args[i])
		switch {
		case is && name == "?":
			e.Print("EVENTCREATE [/L logname] [/SO srcname] /T type /ID eventid /D description")
			return 0
		case is && i+1 < len(args) && strings.Contains(" l so t id d ", " "+name+" "):
			i++
			values[name] = args[i]
		default:
			e.Unknown("eventcreate", args[i])
			return 1
		}
	}

	for _, name := range []string{"t", "id", "d"} {
		if values[name] == "" {
			e.Invalid("eventcreate", fmt.Sprintf("Mandatory option '/%s' is missing.", name))
			return 1
		}
	}

	kind, known := createdTypes()[strings.ToUpper(values["t"])]
	if !known {
		e.Invalid("eventcreate", fmt.Sprintf("'%s' value is not allowed for '/T' option.", values["t"]))
		return 1
	}

	id, err := strconv.ParseUint(values["id"], 10, 32)
	if err != nil || id < 1 || id > mostCreatedID {
		e.Complain("ERROR: Invalid value for '/ID' option. It is a number from 1 to %d.", mostCreatedID)
		return 1
	}

	entry := eventlog.Entry{
		Log:    values["l"],
		Source: values["so"],
		Type:   kind,
		ID:     uint32(id),
		Text:   values["d"],
	}

	if err := createIn(sys, &entry); err != nil {
		e.Complain("ERROR: %v", err)
		return 1
	}
	e.Print("\r\nSUCCESS: An event of type '%s' was created in the '%s' log with '%s' as the source.", strings.ToUpper(values["t"]),
		entry.Log, entry.Source)
	return 0
}

// createIn writes an event to a log that there is.
func createIn(sys System, entry *eventlog.Entry) error {
	logs, err := sys.Logs()
	if err != nil {
		return err
	}
	for _, log := range logs {
		if strings.EqualFold(log, entry.Log) && !strings.EqualFold(log, "Security") {
			entry.Log = log
			return sys.Write(*entry)
		}
	}
	return fmt.Errorf("the log %q does not exist, or events cannot be created in it", entry.Log)
}
