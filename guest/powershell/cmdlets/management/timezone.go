package management

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/guest/timezone"
)

// zonesKey has a key for each time zone that Windows knows.
const zonesKey = `HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones`

// zoneCmdlets get and set the time zone
// (https://learn.microsoft.com/powershell/module/microsoft.powershell.management/set-timezone).
func zoneCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Get-TimeZone",
			Aliases:   []string{"gtz"},
			About:     "the time zone of the container or the host, or those that there are",
			Values:    []string{"id", "name"},
			Flags:     []string{"listavailable"},
			Positions: []string{"name"},
			Run:       getTimeZone,
		},
		{
			Name:      "Set-TimeZone",
			Aliases:   []string{"stz"},
			About:     "sets the time zone of the container or the host, as tzutil /s does",
			Values:    []string{"id", "name", "inputobject"},
			Flags:     []string{"passthru"},
			Positions: []string{"name"},
			Takes:     "inputobject",
			Run:       setTimeZone,
		},
	}
}

// noZone is what is said of a zone that is not there.
const noZone = "The time zone ID '%s' was not found on the local computer."

// getTimeZone outputs the zone that is set, or those that are named or that there are.
func getTimeZone(c *cmdlet.Call) error {
	all, _, err := registry(c).Read(zonesKey)
	if err != nil {
		return c.Fail(err)
	}

	ids, names := c.Values["id"], c.Values["name"]
	if ids == nil && names == nil && !c.Flags["listavailable"] {
		id, err := c.State.System.Zone()
		if err != nil {
			return c.Fail(err)
		}
		return putZone(c, id)
	}

	for id := range object.Each(ids) {
		if err := putZones(c, all, object.Text(id),
			func(o *object.Object) string { return object.Text(o.Props["id"]) }); err != nil {
			return err
		}
	}

	for name := range object.Each(names) {
		standard := func(o *object.Object) string { return object.Text(o.Props["standardname"]) }
		if err := putZones(c, all, object.Text(name), standard); err != nil {
			return err
		}
	}

	if ids != nil || names != nil {
		return nil
	}
	return putZones(c, all, "*", func(*object.Object) string { return "" })
}

// putZones outputs the zones that are called as a pattern says.
func putZones(c *cmdlet.Call, all []string, wanted string, called func(*object.Object) string) error {
	re, err := pattern.Wildcard(wanted)
	if err != nil {
		return err
	}

	found := false
	for _, id := range all {
		zone, err := zoneObject(c, id)
		if err != nil {
			return c.Fail(err)
		}
		if !matches(re, called(zone)) {
			continue
		}

		found = true
		if err := c.Out.Put(zone); err != nil {
			return err
		}
	}
	if !found {
		return c.Fail(words.Errorf(noZone, wanted))
	}

	return nil
}

func matches(re *regexp.Regexp, name string) bool { return re.MatchString(strings.ToLower(name)) }

// putZone outputs a zone.
func putZone(c *cmdlet.Call, id string) error {
	zone, err := zoneObject(c, id)
	if err != nil {
		return c.Fail(err)
	}
	return c.Out.Put(zone)
}

// zoneObject returns a zone as System.TimeZoneInfo has it.
func zoneObject(c *cmdlet.Call, id string) (*object.Object, error) {
	_, values, err := registry(c).Read(zonesKey + `\` + id)
	if err != nil {
		return nil, err
	}
	of := func(name string) string {
		v, _ := provider.FindValue(values, name)
		return v.Text()
	}

	tzi, _ := provider.FindValue(values, "TZI")
	rule, err := timezone.Parse(tzi.Data)
	if err != nil {
		return nil, err
	}

	return object.New(object.Custom).Set("Id", id).Set("DisplayName", of("Display")).Set("StandardName", of("Std")).
		Set("DaylightName", of("Dlt")).
		Set("BaseUtcOffset", &object.Instance{Of: object.SpanClass(), V: -time.Duration(rule.Bias) * time.Minute}).
		Set("SupportsDaylightSavingTime", rule.Daylight.Month != 0), nil
}

// setTimeZone sets the zone by its ID, its name, or an object of Get-TimeZone.
func setTimeZone(c *cmdlet.Call) error {
	id := c.Text("id")
	for _, v := range append(slices.Clone(c.Input), c.Values["inputobject"]) {
		if o, is := v.(*object.Object); is && id == "" {
			id = object.Text(o.Props["id"])
		}
	}

	if name := c.Text("name"); name != "" && id == "" {
		all, _, err := registry(c).Read(zonesKey)
		if err != nil {
			return c.Fail(err)
		}

		for _, one := range all {
			zone, err := zoneObject(c, one)
			if err == nil && strings.EqualFold(object.Text(zone.Props["standardname"]), name) {
				id = one
			}
		}
		if id == "" {
			return c.Fail(words.Errorf("The time zone name '%s' was not found on the local computer.", name))
		}
	}

	if err := c.State.System.SetZone(id); err != nil {
		return c.Fail(err)
	}
	if c.Flags["passthru"] {
		return putZone(c, id)
	}
	return nil
}
