package powershell

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// moment is a System.DateTime, for example the LastWriteTime of a file
// (https://learn.microsoft.com/en-us/dotnet/api/system.datetime).
type moment struct{ at time.Time }

// text is the time as .NET writes it into a string, in the invariant culture.
func (m moment) text() string { return m.at.Format("01/02/2006 15:04:05") }

func (m moment) order(b value) (int, error) {
	if s, isText := b.(string); isText {
		if d, err := parseDate(s); err == nil {
			b = d
		}
	}
	other, ok := b.(moment)
	if !ok {
		return 0, thrown("Comparing a time with %q is not part of Mullion's PowerShell.", text(b))
	}
	return cmp.Compare(m.ticks(), other.ticks()), nil
}

// epoch is how many seconds Unix' first moment is after the year 1, and ticks how many parts a second has in .NET.
const (
	epoch          = 62135596800
	ticksPerSecond = 10_000_000
)

// ticks is the time on its own clock; .NET compares times of different zones by their clocks.
func (m moment) ticks() int64 {
	_, offset := m.at.Zone()
	return (m.at.Unix()+int64(offset)+epoch)*ticksPerSecond + int64(m.at.Nanosecond())/100
}

// dateLayouts are the forms in which a time is read, as far as there is no doubt about them.
func dateLayouts() []string {
	return []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-1-2 15:4:5.999999999", "2006-01-02T15:04",
		"2006-1-2 15:4", "2006-1-2", "2006/1/2", "1/2/2006 3:04:05 PM", "1/2/2006 15:04:05", "1/2/2006 15:04", "1/2/2006",
		"20060102", time.RFC1123,
	}
}

// parseDate reads a time.
func parseDate(s string) (value, error) {
	s = strings.TrimSpace(s)
	for _, layout := range dateLayouts() {
		if layout == "20060102" {
			continue // only ParseExact reads that
		}
		if at, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return moment{at.Local()}, nil
		}
	}
	return nil, raise("System.FormatException", "String was not recognized as a valid DateTime.")
}

// dateFormats are the standard formats of one letter, as custom ones, in the culture en-US.
func dateFormats() map[string]string {
	return map[string]string{
		"d": "M/d/yyyy", "D": "dddd, MMMM d, yyyy", "t": "h:mm tt", "T": "h:mm:ss tt",
		"f": "dddd, MMMM d, yyyy h:mm tt", "F": "dddd, MMMM d, yyyy h:mm:ss tt",
		"g": "M/d/yyyy h:mm tt", "G": "M/d/yyyy h:mm:ss tt", "m": "MMMM d", "M": "MMMM d", "y": "MMMM yyyy", "Y": "MMMM yyyy",
		"s": "yyyy'-'MM'-'dd'T'HH':'mm':'ss", "o": "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK",
		"O": "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK", "u": "yyyy'-'MM'-'dd HH':'mm':'ss'Z'",
		"r": "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'", "R": "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'",
	}
}

// format is the time in a format
// (https://learn.microsoft.com/en-us/dotnet/standard/base-types/custom-date-and-time-format-strings).
func (m moment) format(format string) (string, error) {
	if format == "U" {
		return moment{m.at.UTC()}.format("F")
	}
	if standard, ok := dateFormats()[format]; ok {
		format = standard
	} else if len(format) == 1 {
		return "", badFormat()
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
				return "", badFormat()
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

// part is a part of the time: a letter of a format, and how often it stands there.
func (m moment) part(letter byte, n int) string {
	at := m.at
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

// dateClass is System.DateTime.
func dateClass() *class {
	of := func(name string, get func(at time.Time) value) field {
		return field{name: name, get: func(_ *frame, v value) (value, error) {
			m, _ := v.(moment)
			return get(m.at), nil
		}}
	}
	number := func(name string, get func(at time.Time) int) field {
		return of(name, func(at time.Time) value { return int64(get(at)) })
	}
	now := func(name string, get func() time.Time) field {
		return field{name: name, get: func(*frame, value) (value, error) { return moment{get()}, nil }}
	}
	day := func(at time.Time) time.Time {
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
	}
	return &class{
		name:   "System.DateTime",
		others: []string{"datetime"},
		fields: []field{
			now("Now", time.Now), now("UtcNow", func() time.Time { return time.Now().UTC() }),
			now("Today", func() time.Time { return day(time.Now()) }),
		},
		calls:   dateCalls(),
		make:    &routine{least: 3, most: 6, do: makeDate},
		methods: dateMethods(),
		props: []field{
			number("Year", time.Time.Year), number("Month", func(at time.Time) int { return int(at.Month()) }),
			number("Day", time.Time.Day), number("Hour", time.Time.Hour), number("Minute", time.Time.Minute),
			number("Second", time.Time.Second), number("DayOfYear", time.Time.YearDay),
			number("Millisecond", func(at time.Time) int { return at.Nanosecond() / 1e6 }),
			of("DayOfWeek", func(at time.Time) value { return enum{enumOf("DayOfWeek"), int64(at.Weekday())} }),
			of("Date", func(at time.Time) value { return moment{day(at)} }),
			of("Ticks", func(at time.Time) value { return moment{at}.ticks() }),
			of("TimeOfDay", func(at time.Time) value { return &instance{spanClass(), at.Sub(day(at))} }),
		},
	}
}

// makeDate makes a time of year, month, day and perhaps hour, minute, second.
func makeDate(c *dotCall) (value, error) {
	n := [6]int{}
	for i := range c.args {
		v, err := c.whole(i)
		if err != nil {
			return nil, err
		}
		n[i] = int(v)
	}
	at := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, time.Local)
	if at.Year() != n[0] || int(at.Month()) != n[1] || at.Day() != n[2] || at.Hour() != n[3] || at.Minute() != n[4] {
		return nil, raise("System.ArgumentOutOfRangeException",
			"Year, Month, and Day parameters describe an un-representable DateTime.")
	}
	return moment{at}, nil
}

func dateCalls() []routine {
	return []routine{
		{name: "Parse", least: 1, most: 1, do: func(c *dotCall) (value, error) { return parseDate(c.text(0)) }},
		{name: "IsLeapYear", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			n, err := c.whole(0)
			return n%4 == 0 && (n%100 != 0 || n%400 == 0), err
		}},
		{name: "DaysInMonth", least: 2, most: 2, do: func(c *dotCall) (value, error) {
			year, err := c.whole(0)
			if err != nil {
				return nil, err
			}
			month, err := c.whole(1)
			if err != nil || month < 1 || month > 12 {
				return nil, raise("System.ArgumentOutOfRangeException", "Month must be between one and twelve.\nParameter name: month")
			}
			return int64(time.Date(int(year), time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day()), nil
		}},
	}
}

func dateMethods() []routine {
	on := func(name string, least, most int, do func(m moment, c *dotCall) (value, error)) routine {
		return routine{name: name, least: least, most: most, do: func(c *dotCall) (value, error) {
			m, _ := c.on.(moment)
			return do(m, c)
		}}
	}
	add := func(name string, unit time.Duration) routine {
		return on(name, 1, 1, func(m moment, c *dotCall) (value, error) {
			n, err := floating(c.arg(0))
			if _, offset := m.at.Zone(); err == nil && unit >= time.Hour && m.at.Location() != time.UTC {
				at := m.at.Add(time.Duration(n * float64(unit)))
				_, after := at.Zone() // the clock goes on by the hours, whatever the zone does
				return moment{at.Add(time.Duration(offset-after) * time.Second)}, nil
			}
			return moment{m.at.Add(time.Duration(n * float64(unit)))}, err
		})
	}
	months := func(name string, unit int) routine {
		return on(name, 1, 1, func(m moment, c *dotCall) (value, error) {
			n, err := c.whole(0)
			at := m.at.AddDate(0, int(n)*unit, 0)
			if at.Day() != m.at.Day() { // of a shorter month, the last day
				at = at.AddDate(0, 0, -at.Day())
			}
			return moment{at}, err
		})
	}
	return []routine{
		add("AddDays", 24*time.Hour), add("AddHours", time.Hour), add("AddMinutes", time.Minute),
		add("AddSeconds", time.Second), add("AddMilliseconds", time.Millisecond),
		months("AddMonths", 1), months("AddYears", 12),
		on("ToString", 0, 1, func(m moment, c *dotCall) (value, error) {
			if format := c.text(0); format != "" {
				return m.format(format)
			}
			return m.format("G")
		}),
		on("ToUniversalTime", 0, 0, func(m moment, _ *dotCall) (value, error) { return moment{m.at.UTC()}, nil }),
		on("ToLocalTime", 0, 0, func(m moment, _ *dotCall) (value, error) {
			return moment{m.at.Local()}, nil
		}),
		on("ToShortDateString", 0, 0, func(m moment, _ *dotCall) (value, error) { return m.format("d") }),
		on("ToLongDateString", 0, 0, func(m moment, _ *dotCall) (value, error) { return m.format("D") }),
		on("ToShortTimeString", 0, 0, func(m moment, _ *dotCall) (value, error) { return m.format("t") }),
		on("ToLongTimeString", 0, 0, func(m moment, _ *dotCall) (value, error) { return m.format("T") }),
		on("Subtract", 1, 1, func(m moment, c *dotCall) (value, error) { return m.minus(c.arg(0)) }),
		on("Add", 1, 1, func(m moment, c *dotCall) (value, error) {
			return moment{m.at.Add(own[time.Duration](c.arg(0)))}, nil
		}),
	}
}

// minus is the time between two, or a time before.
func (m moment) minus(b value) (value, error) {
	switch b := b.(type) {
	case moment:
		return &instance{spanClass(), time.Duration(m.ticks()-b.ticks()) * 100}, nil
	case *instance:
		if d, ok := b.v.(time.Duration); ok {
			return moment{m.at.Add(-d)}, nil
		}
	}
	return nil, thrown("A time less %q is not part of Mullion's PowerShell.", text(b))
}

const spanName = "System.TimeSpan"

// spanClass is System.TimeSpan.
func spanClass() *class {
	of := func(name string, get func(d time.Duration) value) field {
		return field{name: name, get: func(_ *frame, v value) (value, error) { return get(own[time.Duration](v)), nil }}
	}
	total := func(name string, unit time.Duration) field {
		return of(name, func(d time.Duration) value { return float64(d) / float64(unit) })
	}
	part := func(name string, unit time.Duration, of60 int64) field {
		return of(name, func(d time.Duration) value {
			n := int64(d / unit)
			if of60 > 0 {
				n %= of60
			}
			return n
		})
	}
	from := func(name string, unit time.Duration) routine {
		return routine{name: name, least: 1, most: 1, do: func(c *dotCall) (value, error) {
			n, err := floating(c.arg(0))
			return &instance{spanClass(), time.Duration(n * float64(unit))}, err
		}}
	}
	return &class{
		name:         spanName,
		byProperties: true,
		others:       []string{"timespan"},
		text:         func(v any) string { return spanText(v.(time.Duration)) },
		same:         func(v any) string { return spanText(v.(time.Duration)) },
		fields: []field{{name: "Zero", get: func(*frame, value) (value, error) {
			return &instance{spanClass(), time.Duration(0)}, nil
		}}},
		calls: []routine{
			from("FromDays", 24*time.Hour), from("FromHours", time.Hour), from("FromMinutes", time.Minute),
			from("FromSeconds", time.Second), from("FromMilliseconds", time.Millisecond),
		},
		make: &routine{least: 3, most: 4, do: func(c *dotCall) (value, error) {
			d := time.Duration(0)
			units := []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}
			for i := range c.args {
				n, err := c.whole(i)
				if err != nil {
					return nil, err
				}
				d += time.Duration(n) * units[i+len(units)-len(c.args)]
			}
			return &instance{spanClass(), d}, nil
		}},
		props: []field{
			part("Days", 24*time.Hour, 0), part("Hours", time.Hour, 24), part("Minutes", time.Minute, 60),
			part("Seconds", time.Second, 60), part("Milliseconds", time.Millisecond, 1000),
			of("Ticks", func(d time.Duration) value { return int64(d) / 100 }),
			total("TotalDays", 24*time.Hour), total("TotalHours", time.Hour), total("TotalMinutes", time.Minute),
			total("TotalSeconds", time.Second), total("TotalMilliseconds", time.Millisecond),
		},
	}
}

// spanText is a time span as text: days.hours:minutes:seconds.parts.
func spanText(d time.Duration) string {
	if d == infinite {
		return "10675199.02:48:05.4775807"
	}
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	days := int64(d / (24 * time.Hour))
	d -= time.Duration(days) * 24 * time.Hour
	s := fmt.Sprintf("%02d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
	if days > 0 {
		s = fmt.Sprintf("%d.%s", days, s)
	}
	if parts := d % time.Second / 100; parts > 0 {
		s += fmt.Sprintf(".%07d", int64(parts))
	}
	return sign + s
}

// getDate outputs now or a given time, with -Format as text.
func getDate(c *call) error {
	items := c.items("date")
	if len(items) == 0 && !c.piped {
		items = []value{moment{time.Now()}}
	}
	for _, item := range items {
		v, err := toDate(item)
		if err != nil {
			return err
		}
		if format, given := c.values["format"]; given {
			m, _ := v.(moment)
			if v, err = m.format(text(format)); err != nil {
				return err
			}
		}
		if err := c.out.put(v); err != nil {
			return err
		}
	}
	return nil
}
