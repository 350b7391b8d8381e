package machine

import "mullion.dev/mullion/guest/tools/program"

// notStarted is ERROR_SERVICE_NOT_ACTIVE as an HRESULT, with which w32tm ends while the time service does not run.
const notStarted = -0x7ff8fbda // 0x80070426

// W32tm shows the time zone; there is no time service
// (https://learn.microsoft.com/windows-server/networking/windows-time-service/windows-time-service-tools-and-settings).
func W32tm(e program.Env, sys System, args []string) int {
	first := ""
	if len(args) > 0 {
		first, _ = program.Option(args[0])
	}
	switch first {
	case "tz":
		zone, err := sys.Zone(e.Getenv("TZ"))
		if err != nil {
			e.Complain("The following error occurred: %v", err)
			return 1
		}
		zone.print(e)
		return 0

	case "resync", "query", "config", "monitor", "stripchart", "dumpreg", "register", "unregister", "debug":
		if first == "resync" {
			e.Print("Sending resync command to local computer")
		}
		e.Print("The following error occurred: The service has not been started. (0x80070426)")
		return notStarted
	}

	e.Print("w32tm /tz")
	if first == "?" {
		return 0
	}
	return 1
}

// print prints a zone as w32tm /tz does.
func (z Zone) print(e program.Env) {
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
	e.Print("Time zone: Current:%s Bias: %dmin (UTC=LocalTime+Bias)", current, z.Bias)
	e.Print("  [Standard Name:\"%s\" Bias:%dmin Date:%s]", z.Standard, z.StandardBias, date(z.StandardBegins))
	e.Print("  [Daylight Name:\"%s\" Bias:%dmin Date:%s]", z.Daylight, z.DaylightBias, date(z.DaylightBegins))
}
