package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"mullion.dev/mullion/guest/timezone"
)

// dynamicZone is DYNAMIC_TIME_ZONE_INFORMATION
// (https://learn.microsoft.com/windows/win32/api/timezoneapi/ns-timezoneapi-dynamic_time_zone_information).
type dynamicZone struct {
	bias         int32
	standard     [32]uint16
	standardDate windows.Systemtime
	standardBias int32
	daylight     [32]uint16
	daylightDate windows.Systemtime
	daylightBias int32
	key          [128]uint16
	_            uint8
}

// SetZone implements System.
func (local) SetZone(id string, winter bool) error { return timezone.Set(id, winter) }

// Zone implements System. Where the registry does not say which zone there is, Wine takes the first of the zones
// without an offset, in which it is winter all year, for UTC too.
func (local) Zone(tz string) (Zone, error) {
	var d dynamicZone
	const invalid, inDaylight = 0xffffffff, 2
	rc, _, err := kernel32("GetDynamicTimeZoneInformation").Call(uintptr(unsafe.Pointer(&d)))
	if uint32(rc) == invalid {
		return Zone{}, fmt.Errorf("read the time zone: %w", err)
	}

	date := func(s windows.Systemtime) string {
		if s.Month == 0 {
			return ""
		}
		return fmt.Sprintf("(M:%d D:%d DoW:%d)", s.Month, s.Day, s.DayOfWeek)
	}

	zone := Zone{
		ID:             windows.UTF16ToString(d.key[:]),
		Standard:       windows.UTF16ToString(d.standard[:]),
		Daylight:       windows.UTF16ToString(d.daylight[:]),
		Bias:           int(d.bias),
		StandardBias:   int(d.standardBias),
		DaylightBias:   int(d.daylightBias),
		InDaylight:     rc == inDaylight,
		HasDaylight:    d.daylightDate.Month != 0,
		StandardBegins: date(d.standardDate),
		DaylightBegins: date(d.daylightDate),
	}
	if zone.Bias == 0 && !zone.HasDaylight && !timezone.IsSet() {
		localtime, err := os.ReadFile(`\\?\unix\etc\localtime`)
		if isUTC(tz, localtime) && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			return utc(), nil
		}
	}

	return zone, nil
}

// Zones implements System.
func (l local) Zones() ([]Zone, error) {
	const path = `SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones`
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.ENUMERATE_SUB_KEYS)
	if err != nil {
		return nil, fmt.Errorf("list the time zones: %w", err)
	}
	defer key.Close()
	names, err := key.ReadSubKeyNames(-1)
	if err != nil {
		return nil, fmt.Errorf("list the time zones: %w", err)
	}

	slices.Sort(names)
	var all []Zone
	for _, name := range names {
		display, err := l.Value(`HKLM\`+path+`\`+name, "Display")
		if err != nil {
			display = name
		}
		all = append(all, Zone{ID: name, Display: display})
	}

	return all, nil
}

// utc is Windows' zone UTC.
func utc() Zone {
	const name = "Coordinated Universal Time"
	return Zone{
		ID:       "UTC",
		Display:  "(UTC) " + name,
		Standard: name,
		Daylight: name,
	}
}
