package machine

import (
	"slices"
	"strings"
)

// Zone is a time zone of Windows.
type Zone struct {
	// ID names the zone, Display is its name for people: "UTC", "(UTC) Coordinated Universal Time".
	ID, Display string
	// Standard and Daylight are the names of the zone's two times, Bias and their biases are minutes to add for UTC.
	Standard, Daylight               string
	Bias, StandardBias, DaylightBias int
	InDaylight, HasDaylight          bool
	StandardBegins, DaylightBegins   string // as w32tm shows the dates: "(M:10 D:5 DoW:0)"
}

// isUTC reports whether the Linux side's zone is UTC, by TZ or else by the content of /etc/localtime, which ends with a
// rule of its own (https://www.rfc-editor.org/rfc/rfc8536#section-3.3). Without either it is.
func isUTC(tz string, localtime []byte) bool {
	if tz = strings.TrimPrefix(tz, ":"); tz != "" {
		name := strings.ToUpper(tz[strings.LastIndexByte(tz, '/')+1:])
		return slices.Contains([]string{"UTC", "UTC0", "UCT", "ZULU", "UNIVERSAL"}, name)
	}
	rule := strings.TrimSuffix(string(localtime), "\n")
	rule = rule[strings.LastIndexByte(rule, '\n')+1:]
	return len(localtime) == 0 || rule == "UTC0"
}
