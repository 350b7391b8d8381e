package timezone

import (
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"golang.org/x/sys/windows/registry"
)

// current is the key that says which zone there is, zones that of those that there are; below HKEY_LOCAL_MACHINE.
const (
	current = `SYSTEM\CurrentControlSet\Control\TimeZoneInformation`
	zones   = `SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones`
)

// IsSet reports whether the registry says which zone there is; else it is what Wine makes of the Linux side's.
func IsSet() bool {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, current, registry.QUERY_VALUE)
	if err != nil {
		return false
	}
	defer key.Close()
	_, _, err = key.GetStringValue("MullionKeyName")
	return err == nil
}

// Set makes a zone the container's or the host's. With winter it has one time all year.
func Set(id string, winter bool) error {
	if isContainerUser() {
		return ErrPrivilege
	}

	zone, err := registry.OpenKey(registry.LOCAL_MACHINE, zones+`\`+id, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) || id == "" {
		return fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	if err != nil {
		return fmt.Errorf("open time zone %q: %w", id, err)
	}
	defer zone.Close()

	tzi, _, err := zone.GetBinaryValue("TZI")
	if err != nil {
		return fmt.Errorf("read time zone %q: %w", id, err)
	}
	rule, err := Parse(tzi)
	if err != nil {
		return err
	}

	if winter {
		rule = rule.WithoutDaylight()
	}
	standard, _, errStandard := zone.GetStringValue("Std")
	daylight, _, errDaylight := zone.GetStringValue("Dlt")
	if err := errors.Join(errStandard, errDaylight); err != nil {
		return fmt.Errorf("read time zone %q: %w", id, err)
	}

	return rule.write(id, standard, daylight, winter)
}

// isContainerUser reports whether the program runs as the one user of a container who is no administrator. Wine's
// tokens have the group BUILTIN\Administrators all the same.
func isContainerUser() bool {
	u, err := user.Current()
	return err == nil && strings.EqualFold(u.Username[strings.LastIndexByte(u.Username, '\\')+1:], "ContainerUser")
}

// write puts the zone into the registry, its name last: until then it is the one before.
func (r Rule) write(id, standard, daylight string, winter bool) error {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, current, registry.SET_VALUE)
	if err != nil {
		return fmt.Errorf("set the time zone: %w", err)
	}
	defer key.Close()
	number := func(name string, value int32) error { return key.SetDWordValue(name, uint32(value)) }
	off := int32(0)
	if winter {
		off = 1
	}

	err = errors.Join(
		number("Bias", r.Bias), number("StandardBias", r.StandardBias), number("DaylightBias", r.DaylightBias),
		number("ActiveTimeBias", r.Active(time.Now())), number("DynamicDaylightTimeDisabled", off),
		key.SetStringValue("StandardName", standard), key.SetStringValue("DaylightName", daylight),
		key.SetBinaryValue("StandardStart", r.Standard.Fields()), key.SetBinaryValue("DaylightStart", r.Daylight.Fields()),
		key.SetStringValue("MullionStandardName", standard), key.SetStringValue("TimeZoneKeyName", id),
		key.SetStringValue("MullionKeyName", id))
	if err != nil {
		return fmt.Errorf("set the time zone: %w", err)
	}

	return nil
}
