package format

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

const (
	// WrappedEvent is the kind of an event whose message is shown whole.
	WrappedEvent = "wrapped event"

	winEventRow = "%-22s %10s %-16s %s"
	logEventRow = "%8s %-13s %-11s %-22s %10s %s"
)

// eventHead returns the lines before the rows of a table of events; of is their provider.
func eventHead(kind, of string) []string {
	switch kind {
	case "event", WrappedEvent:
		return []string{
			"", "   ProviderName: " + of, "", fmt.Sprintf(winEventRow, "TimeCreated", "Id", "LevelDisplayName",
				"Message"),
			fmt.Sprintf(winEventRow, "-----------", "--", "----------------", "-------"),
		}

	case "log entry":
		return []string{
			"", fmt.Sprintf(logEventRow, "Index", "Time", "EntryType", "Source", "InstanceID", "Message"),
			fmt.Sprintf(logEventRow, "-----", "----", "---------", "------", "----------", "-------"),
		}
	}

	return nil
}

// eventRow returns an event as a row of its kind's table.
func eventRow(o *object.Object) (line string, ok bool) {
	p := func(name string) string { return object.Text(o.Props[name]) }
	switch o.Kind {
	case "event", WrappedEvent:
		at, _ := o.Props["timecreated"].(object.DateTime)
		row := fmt.Sprintf(winEventRow, at.At.Format("1/2/2006 3:04:05 PM"), p("id"), p("leveldisplayname"), "")
		if o.Kind == "event" {
			return row + firstLine(p("message")), true
		}
		message := strings.ReplaceAll(p("message"), "\r\n", "\n")
		return row + strings.ReplaceAll(message, "\n", "\n"+strings.Repeat(" ", len(row))), true

	case "log entry":
		at, _ := o.Props["timegenerated"].(object.DateTime)
		return fmt.Sprintf(logEventRow, p("index"), at.At.Format("Jan 02 15:04"), p("entrytype"),
			shortened(p("source"), 22),
			p("instanceid"), firstLine(p("message"))), true
	}

	return "", false
}
