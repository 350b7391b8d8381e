package machine

import (
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// Tzutil shows the time zone (https://learn.microsoft.com/windows-server/administration/windows-commands/tzutil).
func Tzutil(e program.Env, sys System, args []string) int {
	usage := func(code int) int {
		e.Print("Windows Time Zone Utility")
		e.Print("")
		e.Print("TZUTIL </? | /g | /s TimeZoneID[_dstoff] | /l>")
		return code
	}
	if len(args) == 0 {
		return usage(1)
	}

	name, is := program.Option(args[0])
	switch {
	case is && name == "?":
		return usage(0)
	case is && name == "g" && len(args) == 1:
		zone, err := sys.Zone(e.Getenv("TZ"))
		if err != nil {
			e.Complain("ERROR: %v", err)
			return 1
		}
		_, _ = e.Stdout.Write([]byte(zone.ID)) // without the end of a line, as Windows' program
		return 0

	case is && name == "l" && len(args) == 1:
		return listZones(e, sys)
	case is && name == "s" && len(args) == 2:
		id, winter := strings.CutSuffix(args[1], "_dstoff")
		if err := sys.SetZone(id, winter); err != nil {
			e.Complain("ERROR: %v", err)
			return 1
		}
		return 0
	}

	return usage(1)
}

// listZones prints all zones.
func listZones(e program.Env, sys System) int {
	zones, err := sys.Zones()
	if err != nil {
		e.Complain("ERROR: %v", err)
		return 1
	}
	for _, zone := range zones {
		e.Print("%s", zone.Display)
		e.Print("%s", zone.ID)
		e.Print("")
	}
	return 0
}
