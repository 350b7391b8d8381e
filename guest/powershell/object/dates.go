package object

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/session"
)

// DateTime is a System.DateTime, for example the LastWriteTime of a file
// (https://learn.microsoft.com/en-us/dotnet/api/system.datetime).
type DateTime struct{ At time.Time }

// Text returns the time as .NET writes it into a string, in the invariant culture.
func (m DateTime) Text() string { return m.At.Format("01/02/2006 15:04:05") }

// Order compares with another time, or a text of one.
func (m DateTime) Order(b Value) (int, error) {
	if s, isText := b.(string); isText {
		if d, err := ParseDate(s); err == nil {
			b = d
		}
	}
	other, ok := b.(DateTime)
	if !ok {
		return 0, Thrown("Comparing a time with %q is not part of Mullion's PowerShell.", Text(b))
	}
	return cmp.Compare(m.ticks(), other.ticks()), nil
}

// epoch is how many seconds Unix' first moment is after the year 1, and ticks how many parts a second has in .NET.
const (
	epoch          = 62135596800
	ticksPerSecond = 10_000_000
)

// ticks returns the time on its own clock; .NET compares times of different zones by their clocks.
func (m DateTime) ticks() int64 {
	_, offset := m.At.Zone()
	return (m.At.Unix()+int64(offset)+epoch)*ticksPerSecond + int64(m.At.Nanosecond())/100
}

// dateLayouts returns the forms in which a time is read, as far as there is no doubt about them.
func dateLayouts() []string {
	return []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-1-2 15:4:5.999999999", "2006-01-02T15:04",
		"2006-1-2 15:4", "2006-1-2", "2006/1/2", "1/2/2006 3:04:05 PM", "1/2/2006 15:04:05", "1/2/2006 15:04",
		"1/2/2006",
		"20060102", time.RFC1123,
	}
}

// ParseDate reads a time.
func ParseDate(s string) (Value, error) {
	s = strings.TrimSpace(s)
	for _, layout := range dateLayouts() {
		if layout == "20060102" {
			continue // only ParseExact reads that
		}
		if at, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return DateTime{at.Local()}, nil
		}
	}
	return nil, Raise("System.FormatException", "String was not recognized as a valid DateTime.")
}

// dateFormats returns the standard formats of one letter, as custom ones, in the culture en-US.
func dateFormats() map[string]string {
	return map[string]string{
		"d": "M/d/yyyy", "D": "dddd, MMMM d, yyyy", "t": "h:mm tt", "T": "h:mm:ss tt",
		"f": "dddd, MMMM d, yyyy h:mm tt", "F": "dddd, MMMM d, yyyy h:mm:ss tt", "g": "M/d/yyyy h:mm tt",
		"G": "M/d/yyyy h:mm:ss tt", "m": "MMMM d", "M": "MMMM d", "y": "MMMM yyyy", "Y": "MMMM yyyy",
		"s": "yyyy'-'MM'-'dd'T'HH':'mm':'ss", "o": "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK",
		"O": "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK", "u": "yyyy'-'MM'-'dd HH':'mm':'ss'Z'",
		"r": "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'", "R": "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'",
	}
}

// Format returns the time in a format
// (https://learn.microsoft.com/en-us/dotnet/standard/base-types/custom-date-and-time-format-strings).
func (m DateTime) Format(format string) (string, error) {
	if format == "U" {
		return DateTime{m.At.UTC()}.Format("F")
	}

	if standard, ok := dateFormats()[format]; ok {
		format = standard
	} else if len(format) == 1 {
		return "", BadFormat()
	}

	format = strings.TrimPrefix(format, "%")
	var b strings.Builder
	for format != "" {
		r := format[0]
		n := len(format) - len(strings.TrimLeft(format, string(r)))
		switch {
		case r == '\\' && len(format) > 1:
			b.WriteByte(format[1])
			n = 2
		case r == '\'' || r == '"':
			end := strings.IndexByte(format[1:], r)
			if end < 0 {
				return "", BadFormat()
			}
			b.WriteString(format[1 : 1+end])
			n = end + 2
		case strings.IndexByte("dMyHhmsftzKF", r) >= 0:
			b.WriteString(m.part(r, n))
		default:
			b.WriteString(format[:n])
		}

		format = format[n:]
	}

	return b.String(), nil
}

// part returns a part of the time: a letter of a format, and how often it stands there.
func (m DateTime) part(letter byte, n int) string {
	at := m.At
	digits := func(v int) string { return fmt.Sprintf("%0*d", min(n, 2), v) }
	switch letter {
	case 'd':
		return []string{strconv.Itoa(at.Day()), at.Format("02"), at.Format("Mon"), at.Format("Monday")}[min(n, 4)-1]
	case 'M':
		month := strconv.Itoa(int(at.Month()))
		return []string{month, at.Format("01"), at.Format("Jan"), at.Format("January")}[min(n, 4)-1]
	case 'y':
		if n <= 2 {
			return digits(at.Year() % 100)
		}
		return fmt.Sprintf("%0*d", n, at.Year())
	case 'H':
		return digits(at.Hour())
	case 'h':
		return digits((at.Hour()+11)%12 + 1)
	case 'm':
		return digits(at.Minute())
	case 's':
		return digits(at.Second())
	case 't':
		return at.Format("PM")[:min(n, 2)]
	case 'f', 'F':
		s := fmt.Sprintf("%09d", at.Nanosecond())[:min(n, 7)]
		if letter == 'F' {
			s = strings.TrimRight(s, "0")
		}
		return s
	case 'z':
		if n == 1 {
			_, offset := at.Zone()
			return fmt.Sprintf("%+d", offset/3600)
		}
		return at.Format([]string{"-07", "-07:00"}[min(n, 3)-2])
	}

	if at.Location() == time.UTC { // K
		return "Z"
	}

	return at.Format("-07:00")
}

// DateClass returns the class System.DateTime.
func DateClass() *Class {
	of := func(name string, get func(at time.Time) Value) Field {
		return Field{
			Name: name,
			Get: func(_ *session.State, v Value) (Value, error) {
				m, _ := v.(DateTime)
				return get(m.At), nil
			},
		}
	}

	number := func(name string, get func(at time.Time) int) Field {
		return of(name, func(at time.Time) Value { return int64(get(at)) })
	}

	now := func(name string, get func() time.Time) Field {
		return Field{Name: name, Get: func(*session.State, Value) (Value, error) { return DateTime{get()}, nil }}
	}

	day := func(at time.Time) time.Time {
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
	}

	return &Class{
		Name:   "System.DateTime",
		Others: []string{"datetime"},
		Fields: []Field{
			now("Now", time.Now), now("UtcNow", func() time.Time { return time.Now().UTC() }),
			now("Today", func() time.Time { return day(time.Now()) }),
		},
		Calls: dateCalls(),
		Make: &Method{
			Least: 3,
			Most:  6,
			Do:    makeDate,
		},
		Methods: dateMethods(),
		Props: []Field{
			number("Year", time.Time.Year), number("Month", func(at time.Time) int { return int(at.Month()) }),
			number("Day", time.Time.Day), number("Hour", time.Time.Hour), number("Minute", time.Time.Minute),
			number("Second", time.Time.Second), number("DayOfYear", time.Time.YearDay),
			number("Millisecond", func(at time.Time) int { return at.Nanosecond() / 1e6 }),
			of("DayOfWeek", func(at time.Time) Value { return Enum{EnumOf("DayOfWeek"), int64(at.Weekday())} }),
			of("Date", func(at time.Time) Value { return DateTime{day(at)} }),
			of("Kind", func(at time.Time) Value {
				n := int64(2)
				if at.Location() == time.UTC {
					n = 1
				}
				return Enum{EnumOf("DateTimeKind"), n}
			}),
			of("Ticks", func(at time.Time) Value { return DateTime{at}.ticks() }),
			of("TimeOfDay", func(at time.Time) Value { return &Instance{SpanClass(), at.Sub(day(at))} }),
		},
	}
}

// makeDate makes a time of year, month, day and perhaps hour, minute, second.
func makeDate(c *Call) (Value, error) {
	n := [6]int{}
	for i := range c.Args {
		v, err := c.Whole(i)
		if err != nil {
			return nil, err
		}
		n[i] = int(v)
	}

	at := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, time.Local)
	if at.Year() != n[0] || int(at.Month()) != n[1] || at.Day() != n[2] || at.Hour() != n[3] || at.Minute() != n[4] {
		return nil, Raise("System.ArgumentOutOfRangeException",
			"Year, Month, and Day parameters describe an un-representable DateTime.")
	}

	return DateTime{at}, nil
}

func dateCalls() []Method {
	return []Method{
		{Name: "Parse", Least: 1, Most: 1, Do: func(c *Call) (Value, error) { return ParseDate(c.Text(0)) }},
		TryParse(func() Value { return DateTime{} }, ParseDate),
		{
			Name:  "IsLeapYear",
			Least: 1,
			Most:  1,
			Do: func(c *Call) (Value, error) {
				n, err := c.Whole(0)
				return n%4 == 0 && (n%100 != 0 || n%400 == 0), err
			},
		},
		{
			Name:  "DaysInMonth",
			Least: 2,
			Most:  2,
			Do: func(c *Call) (Value, error) {
				year, err := c.Whole(0)
				if err != nil {
					return nil, err
				}
				month, err := c.Whole(1)
				if err != nil || month < 1 || month > 12 {
					return nil, Raise("System.ArgumentOutOfRangeException",
						"Month must be between one and twelve.\nParameter name: month")
				}
				return int64(time.Date(int(year), time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day()), nil
			},
		},
	}
}

func dateMethods() []Method {
	on := func(name string, least, most int, do func(m DateTime, c *Call) (Value, error)) Method {
		return Method{
			Name:  name,
			Least: least,
			Most:  most,
			Do: func(c *Call) (Value, error) {
				m, _ := c.On.(DateTime)
				return do(m, c)
			},
		}
	}

	add := func(name string, unit time.Duration) Method {
		return on(name, 1, 1, func(m DateTime, c *Call) (Value, error) {
			n, err := Floating(c.Arg(0))
			if _, offset := m.At.Zone(); err == nil && unit >= time.Hour && m.At.Location() != time.UTC {
				at := m.At.Add(time.Duration(n * float64(unit)))
				_, after := at.Zone() // the clock goes on by the hours, whatever the zone does
				return DateTime{at.Add(time.Duration(offset-after) * time.Second)}, nil
			}
			return DateTime{m.At.Add(time.Duration(n * float64(unit)))}, err
		})
	}

	months := func(name string, unit int) Method {
		return on(name, 1, 1, func(m DateTime, c *Call) (Value, error) {
			n, err := c.Whole(0)
			at := m.At.AddDate(0, int(n)*unit, 0)
			if at.Day() != m.At.Day() { // of a shorter month, the last day
				at = at.AddDate(0, 0, -at.Day())
			}
			return DateTime{at}, err
		})
	}

	return []Method{
		add("AddDays", 24*time.Hour), add("AddHours", time.Hour), add("AddMinutes", time.Minute),
		add("AddSeconds", time.Second), add("AddMilliseconds", time.Millisecond),
		months("AddMonths", 1), months("AddYears", 12),
		on("ToString", 0, 1, func(m DateTime, c *Call) (Value, error) {
			if format := c.Text(0); format != "" {
				return m.Format(format)
			}
			return m.Format("G")
		}),
		on("ToUniversalTime", 0, 0, func(m DateTime, _ *Call) (Value, error) { return DateTime{m.At.UTC()}, nil }),
		on("ToLocalTime", 0, 0, func(m DateTime, _ *Call) (Value, error) {
			return DateTime{m.At.Local()}, nil
		}),
		on("ToFileTime", 0, 0, func(m DateTime, _ *Call) (Value, error) { return fileTime(m.At), nil }),
		on("ToFileTimeUtc", 0, 0, func(m DateTime, _ *Call) (Value, error) { return fileTime(m.At), nil }),
		on("CompareTo", 1, 1, func(m DateTime, c *Call) (Value, error) {
			n, err := m.Order(c.Arg(0))
			return int64(n), err
		}),
		on("IsDaylightSavingTime", 0, 0, func(m DateTime, _ *Call) (Value, error) { return m.At.IsDST(), nil }),
		add("AddTicks", 100*time.Nanosecond),
		on("ToShortDateString", 0, 0, func(m DateTime, _ *Call) (Value, error) { return m.Format("d") }),
		on("ToLongDateString", 0, 0, func(m DateTime, _ *Call) (Value, error) { return m.Format("D") }),
		on("ToShortTimeString", 0, 0, func(m DateTime, _ *Call) (Value, error) { return m.Format("t") }),
		on("ToLongTimeString", 0, 0, func(m DateTime, _ *Call) (Value, error) { return m.Format("T") }),
		on("Subtract", 1, 1, func(m DateTime, c *Call) (Value, error) { return m.Minus(c.Arg(0)) }),
		on("Add", 1, 1, func(m DateTime, c *Call) (Value, error) {
			return DateTime{m.At.Add(Own[time.Duration](c.Arg(0)))}, nil
		}),
	}
}

// fileTime returns a time as files have it: in steps of 100 ns since 1601.
func fileTime(at time.Time) int64 {
	return (at.Unix()+11644473600)*ticksPerSecond + int64(at.Nanosecond())/100
}

// Minus returns the time between two, or a time before.
func (m DateTime) Minus(b Value) (Value, error) {
	switch b := b.(type) {
	case DateTime:
		return &Instance{SpanClass(), time.Duration(m.ticks()-b.ticks()) * 100}, nil
	case *Instance:
		if d, ok := b.V.(time.Duration); ok {
			return DateTime{m.At.Add(-d)}, nil
		}
	}
	return nil, Thrown("A time less %q is not part of Mullion's PowerShell.", Text(b))
}
