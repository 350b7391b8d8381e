package powershell

import (
	"regexp"
	"slices"
	"time"

	"mullion.dev/mullion/guest/timezone"
)

// zonesKey has a key for each time zone that Windows knows.
const zonesKey = `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones`

// zoneCmdlets get and set the time zone
// (https://learn.microsoft.com/powershell/module/microsoft.powershell.management/set-timezone).
func zoneCmdlets() []cmdlet {
	return []cmdlet{
		{
			name:      "Get-TimeZone",
			aliases:   []string{"gtz"},
			about:     "the time zone of the container or the host, or those that there are",
			values:    []string{"id", "name"},
			flags:     []string{"listavailable"},
			positions: []string{"name"},
			run:       getTimeZone,
		},
		{
			name:      "Set-TimeZone",
			aliases:   []string{"stz"},
			about:     "sets the time zone of the container or the host, as tzutil /s does",
			values:    []string{"id", "name", "inputobject"},
			flags:     []string{"passthru"},
			positions: []string{"name"},
			takes:     "inputobject",
			run:       setTimeZone,
		},
	}
}

// noZone is what is said of a zone that is not there.
const noZone = "The time zone ID '%s' was not found on the local computer."

// getTimeZone outputs the zone that is set, or those that are named or that there are.
func getTimeZone(c *call) error {
	all, _, err := c.registry().read(zonesKey)
	if err != nil {
		return c.fail(err)
	}
	ids, names := c.values["id"], c.values["name"]
	if ids == nil && names == nil && !c.flags["listavailable"] {
		id, err := c.f.in.session.system().zone()
		if err != nil {
			return c.fail(err)
		}
		return c.putZone(id)
	}
	for id := range each(ids) {
		if err := c.putZones(all, text(id), func(o *object) string { return text(o.props["id"]) }); err != nil {
			return err
		}
	}
	for name := range each(names) {
		standard := func(o *object) string { return text(o.props["standardname"]) }
		if err := c.putZones(all, text(name), standard); err != nil {
			return err
		}
	}
	if ids != nil || names != nil {
		return nil
	}
	return c.putZones(all, "*", func(*object) string { return "" })
}

// putZones outputs the zones that are called as a pattern says.
func (c *call) putZones(all []string, pattern string, called func(*object) string) error {
	re, err := wildcard(pattern)
	if err != nil {
		return err
	}
	found := false
	for _, id := range all {
		zone, err := c.zoneObject(id)
		if err != nil {
			return c.fail(err)
		}
		if !matches(re, called(zone)) {
			continue
		}
		found = true
		if err := c.out.put(zone); err != nil {
			return err
		}
	}
	if !found {
		return c.fail(itsWords(noZone, pattern))
	}
	return nil
}

func matches(re *regexp.Regexp, name string) bool { return re.MatchString(lower(name)) }

// putZone outputs a zone.
func (c *call) putZone(id string) error {
	zone, err := c.zoneObject(id)
	if err != nil {
		return c.fail(err)
	}
	return c.out.put(zone)
}

// zoneObject is a zone as System.TimeZoneInfo has it.
func (c *call) zoneObject(id string) (*object, error) {
	_, values, err := c.registry().read(zonesKey + `\` + id)
	if err != nil {
		return nil, err
	}
	of := func(name string) string {
		v, _ := findValue(values, name)
		return v.text()
	}
	tzi, _ := findValue(values, "TZI")
	rule, err := timezone.Parse(tzi.data)
	if err != nil {
		return nil, err
	}
	return newObject(custom).set("Id", id).set("DisplayName", of("Display")).set("StandardName", of("Std")).
		set("DaylightName", of("Dlt")).
		set("BaseUtcOffset", &instance{spanClass(), -time.Duration(rule.Bias) * time.Minute}).
		set("SupportsDaylightSavingTime", rule.Daylight.Month != 0), nil
}

// setTimeZone sets the zone by its ID, its name, or an object of Get-TimeZone.
func setTimeZone(c *call) error {
	id := c.text("id")
	for _, v := range append(slices.Clone(c.input), c.values["inputobject"]) {
		if o, is := v.(*object); is && id == "" {
			id = text(o.props["id"])
		}
	}
	if name := c.text("name"); name != "" && id == "" {
		all, _, err := c.registry().read(zonesKey)
		if err != nil {
			return c.fail(err)
		}
		for _, one := range all {
			zone, err := c.zoneObject(one)
			if err == nil && lower(text(zone.props["standardname"])) == lower(name) {
				id = one
			}
		}
		if id == "" {
			return c.fail(itsWords("The time zone name '%s' was not found on the local computer.", name))
		}
	}
	if err := c.f.in.session.system().setZone(id); err != nil {
		return c.fail(err)
	}
	if c.flags["passthru"] {
		return c.putZone(id)
	}
	return nil
}
