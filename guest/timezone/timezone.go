// Package timezone knows what a time zone of Windows is in the registry, and sets that of a container or a host. It
// owns the key by which Windows' functions answer (guest/c/hooks/timezone.c), and no list of zones, which is Wine's.
package timezone

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrUnknown says that there is no zone of a name.
	ErrUnknown = errors.New("there is no time zone of this name")
	// ErrPrivilege says that the program's user may not set the zone: Windows lets administrators do so.
	ErrPrivilege = errors.New("a required privilege is not held by the client")
)

// Rule is what a zone has in the registry as TZI, REG_TZI_FORMAT
// (https://learn.microsoft.com/windows/win32/api/timezoneapi/ns-timezoneapi-time_zone_information). Biases are minutes to
// add for UTC.
type Rule struct {
	Bias         int32
	StandardBias int32
	DaylightBias int32
	Standard     Date
	Daylight     Date
}

// Date is a SYSTEMTIME: when a time begins, in the time before. Without a year, Day is how often Weekday has come in
// the month, 5 the last one; without a month the zone has one time.
type Date struct{ Year, Month, Weekday, Day, Hour, Minute, Second, Millisecond uint16 }

// Parse reads a TZI.
func Parse(tzi []byte) (Rule, error) {
	var r Rule
	if n, err := binary.Decode(tzi, binary.LittleEndian, &r); err != nil || n != len(tzi) {
		return Rule{}, fmt.Errorf("read a time zone of %d bytes: it is damaged", len(tzi))
	}
	for _, d := range []Date{r.Standard, r.Daylight} {
		if d.Month > 12 || d.Weekday > 6 || d.Day > 31 || d.Hour > 23 || d.Minute > 59 || d.Second > 59 {
			return Rule{}, errors.New("read a time zone: a date is damaged")
		}
	}
	return r, nil
}

// WithoutDaylight returns the rule with one time, that of winter.
func (r Rule) WithoutDaylight() Rule {
	r.DaylightBias = r.StandardBias
	r.Standard, r.Daylight = Date{}, Date{}
	return r
}

// Fields returns a date in the order that the key TimeZoneInformation has: TIME_FIELDS, the weekday last.
func (d Date) Fields() []byte {
	var out []byte
	for _, field := range []uint16{d.Year, d.Month, d.Day, d.Hour, d.Minute, d.Second, d.Millisecond, d.Weekday} {
		out = binary.LittleEndian.AppendUint16(out, field)
	}
	return out
}

// in returns the date in a year, as if its time were UTC.
func (d Date) in(year int) time.Time {
	at := func(day int) time.Time {
		return time.Date(year, time.Month(d.Month), day, int(d.Hour), int(d.Minute), int(d.Second), 0, time.UTC)
	}
	if d.Year != 0 {
		return at(int(d.Day))
	}

	first := at(1)
	day := 1 + (int(d.Weekday)-int(first.Weekday())+7)%7 + 7*(max(int(d.Day), 1)-1)
	for at(day).Month() != first.Month() {
		day -= 7
	}

	return at(day)
}

// Active returns the bias at a moment.
func (r Rule) Active(now time.Time) int32 {
	winter, summer := r.Bias+r.StandardBias, r.Bias+r.DaylightBias
	if r.Daylight.Month == 0 || r.Standard.Month == 0 {
		return winter
	}

	minutes := func(n int32) time.Duration { return time.Duration(n) * time.Minute }
	year := now.UTC().Add(-minutes(winter)).Year()
	begins, ends := r.Daylight.in(year).Add(minutes(winter)), r.Standard.in(year).Add(minutes(summer))
	isSummer := !now.Before(begins) && now.Before(ends)
	if ends.Before(begins) { // south of the equator
		isSummer = !now.Before(begins) || now.Before(ends)
	}
	if isSummer {
		return summer
	}

	return winter
}
