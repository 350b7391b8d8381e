package tools

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

// tzutil shows the time zone (https://learn.microsoft.com/windows-server/administration/windows-commands/tzutil).
func tzutil(e Env, args []string) int {
	usage := func(code int) int {
		e.print("Windows Time Zone Utility")
		e.print("")
		e.print("TZUTIL </? | /g | /s TimeZoneID[_dstoff] | /l>")
		return code
	}
	if len(args) == 0 {
		return usage(1)
	}
	name, is := option(args[0])
	switch {
	case is && name == "?":
		return usage(0)
	case is && name == "g" && len(args) == 1:
		zone, err := e.System.Zone(e.Getenv("TZ"))
		if err != nil {
			e.complain("ERROR: %v", err)
			return 1
		}
		_, _ = e.Stdout.Write([]byte(zone.ID)) // without the end of a line, as Windows' program
		return 0
	case is && name == "l" && len(args) == 1:
		zones, err := e.System.Zones()
		if err != nil {
			e.complain("ERROR: %v", err)
			return 1
		}
		for _, zone := range zones {
			e.print("%s", zone.Display)
			e.print("%s", zone.ID)
			e.print("")
		}
		return 0
	case is && name == "s" && len(args) == 2:
		id, winter := strings.CutSuffix(args[1], "_dstoff")
		if err := e.System.SetZone(id, winter); err != nil {
			e.complain("ERROR: %v", err)
			return 1
		}
		return 0
	}
	return usage(1)
}

// notStarted is ERROR_SERVICE_NOT_ACTIVE as an HRESULT, with which w32tm ends while the time service does not run.
const notStarted = -0x7ff8fbda // 0x80070426

// w32tm shows the time zone; there is no time service
// (https://learn.microsoft.com/windows-server/networking/windows-time-service/windows-time-service-tools-and-settings).
func w32tm(e Env, args []string) int {
	first := ""
	if len(args) > 0 {
		first, _ = option(args[0])
	}
	switch first {
	case "tz":
		zone, err := e.System.Zone(e.Getenv("TZ"))
		if err != nil {
			e.complain("The following error occurred: %v", err)
			return 1
		}
		zone.print(e)
		return 0
	case "resync", "query", "config", "monitor", "stripchart", "dumpreg", "register", "unregister", "debug":
		if first == "resync" {
			e.print("Sending resync command to local computer")
		}
		e.print("The following error occurred: The service has not been started. (0x80070426)")
		return notStarted
	}
	e.print("w32tm /tz")
	if first == "?" {
		return 0
	}
	return 1
}

// print prints a zone as w32tm /tz does.
func (z Zone) print(e Env) {
	current := "TIME_ZONE_ID_UNKNOWN"
	switch {
	case z.InDaylight:
		current = "TIME_ZONE_ID_DAYLIGHT"
	case z.HasDaylight:
		current = "TIME_ZONE_ID_STANDARD"
	}
	date := func(text string) string {
		if text == "" {
			return "(unspecified)"
		}
		return text
	}
	e.print("Time zone: Current:%s Bias: %dmin (UTC=LocalTime+Bias)", current, z.Bias)
	e.print("  [Standard Name:\"%s\" Bias:%dmin Date:%s]", z.Standard, z.StandardBias, date(z.StandardBegins))
	e.print("  [Daylight Name:\"%s\" Bias:%dmin Date:%s]", z.Daylight, z.DaylightBias, date(z.DaylightBegins))
}

// ending holds shutdown's arguments
// (https://learn.microsoft.com/windows-server/administration/windows-commands/shutdown).
type ending struct {
	verb    string // s, r, a, l
	seconds int
}

// shutdownWords are the options that say what to do.
func shutdownWords() string { return "s sg r g p a l h hybrid fw o e i" }

func isShutdownWord(name string) bool {
	return strings.Contains(" "+shutdownWords()+" ", " "+name+" ")
}
