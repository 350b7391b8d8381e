package dotnet

import (
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// dateClass returns the class System.DateTime with its static members
// (https://learn.microsoft.com/en-us/dotnet/api/system.datetime).
func dateClass() *object.Class {
	c := object.DateClass()
	fixed := func(name string, at time.Time) object.Field {
		return object.Field{Name: name, Get: func(*session.State, object.Value) (object.Value, error) {
			return object.DateTime{At: at}, nil
		}}
	}

	c.Fields = append(c.Fields,
		fixed("MinValue", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)),
		fixed("MaxValue", time.Date(9999, 12, 31, 23, 59, 59, 999_999_900, time.UTC)),
		fixed("UnixEpoch", time.Unix(0, 0).UTC()))

	ofFile := func(name string, local bool) object.Method {
		return object.Method{Name: name, Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			n, err := c.Whole(0)
			if n > 2650467743999999999 || n < 0 || err != nil {
				return nil, object.Raise("System.ArgumentOutOfRangeException", "Not a valid Win32 FileTime.\nParameter name: fileTime")
			}
			// steps of 100 ns since 1601, which is so many seconds before 1970
			at := time.Unix(n/10_000_000-11644473600, n%10_000_000*100).UTC()
			if local {
				at = at.Local()
			}

			return object.DateTime{At: at}, nil
		}}
	}

	c.Calls = append(c.Calls,
		ofFile("FromFileTime", true), ofFile("FromFileTimeUtc", false),
		object.Method{Name: "ParseExact", Least: 2, Most: 4, Do: func(c *object.Call) (object.Value, error) {
			return parseExact(c.Text(0), c.Arg(1))
		}},
		object.Method{Name: "TryParseExact", Least: 5, Most: 5, Do: func(c *object.Call) (object.Value, error) {
			to := object.Own[*object.Reference](c.Arg(4))
			v, err := parseExact(c.Text(0), c.Arg(1))
			if to == nil {
				return nil, object.Thrown("Argument: '5' should be a %s. Use [ref].", object.ReferenceName)
			}
			if err != nil {
				return false, to.Set(object.DateTime{})
			}

			return true, to.Set(v)
		}},
		object.Method{Name: "SpecifyKind", Least: 2, Most: 2, Do: func(c *object.Call) (object.Value, error) {
			at, ok := c.Arg(0).(object.DateTime)
			if !ok {
				return nil, object.CannotConvert(c.Arg(0), "System.DateTime")
			}

			zone := time.Local
			if strings.EqualFold(c.Text(1), "utc") {
				zone = time.UTC
			}

			t := at.At
			return object.DateTime{At: time.Date(
				t.Year(), t.Month(), t.Day(),
				t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone,
			)}, nil
		}},
		object.Method{Name: "Compare", Least: 2, Most: 2, Do: func(c *object.Call) (object.Value, error) {
			at, ok := c.Arg(0).(object.DateTime)
			if !ok {
				return nil, object.CannotConvert(c.Arg(0), "System.DateTime")
			}
			n, err := at.Order(c.Arg(1))
			return int64(n), err
		}})

	return c
}

// parseExact reads a time in one of some formats.
func parseExact(s string, formats object.Value) (object.Value, error) {
	for f := range object.Each(formats) {
		if layout, ok := layoutOf(object.Text(f)); ok {
			if at, err := time.ParseInLocation(layout, s, time.Local); err == nil {
				return object.DateTime{At: at}, nil
			}
		}
	}
	return nil, object.Raise("System.FormatException", "String was not recognized as a valid DateTime.")
}

// layouts returns the parts of .NET's formats, longest first, as Go writes them.
func layouts() [][2]string {
	return [][2]string{
		{"yyyy", "2006"},
		{"yy", "06"},
		{"MMMM", "January"},
		{"MMM", "Jan"},
		{"MM", "01"},
		{"M", "1"},
		{"dddd", "Monday"},
		{"ddd", "Mon"},
		{"dd", "02"},
		{"d", "2"},
		{"HH", "15"},
		{"H", "15"},
		{"hh", "03"},
		{"h", "3"},
		{"mm", "04"},
		{"m", "4"},
		{"ss", "05"},
		{"s", "5"},
		{"tt", "PM"},
		{"zzz", "-07:00"},
		{"zz", "-07"},
		{"K", "Z07:00"},
		{"fffffff", "0000000"},
		{"ffffff", "000000"},
		{"fff", "000"},
		{"ff", "00"},
		{"f", "0"},
	}
}

// layoutOf returns a format of .NET as Go's layout.
func layoutOf(format string) (layout string, ok bool) {
	standard := map[string]string{
		"o": "yyyy-MM-ddTHH:mm:ss.fffffffK", "O": "yyyy-MM-ddTHH:mm:ss.fffffffK", "s": "yyyy-MM-ddTHH:mm:ss",
		"u": "yyyy-MM-dd HH:mm:ss'Z'", "d": "M/d/yyyy", "G": "M/d/yyyy h:mm:ss tt", "g": "M/d/yyyy h:mm tt",
		"R": "ddd, dd MMM yyyy HH:mm:ss 'GMT'", "r": "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
	}

	if long, known := standard[format]; known {
		format = long
	}

	var b strings.Builder
next:
	for format != "" {
		for _, one := range layouts() {
			if rest, found := strings.CutPrefix(format, one[0]); found {
				b.WriteString(one[1])
				format = rest
				continue next
			}
		}

		switch format[0] {
		case '\'', '"':
			text, rest, closed := strings.Cut(format[1:], format[:1])
			if !closed {
				return "", false
			}
			b.WriteString(text)
			format = rest

		case '\\':
			b.WriteString(format[1:min(2, len(format))])
			format = format[min(2, len(format)):]
		default:
			b.WriteByte(format[0])
			format = format[1:]
		}
	}

	return b.String(), true
}

// offsetTime is a System.DateTimeOffset.
type offsetTime struct{ at time.Time }

// offsetClass returns the class System.DateTimeOffset
// (https://learn.microsoft.com/en-us/dotnet/api/system.datetimeoffset).
func offsetClass() *object.Class {
	made := func(at time.Time) object.Value { return &object.Instance{Of: offsetClass(), V: offsetTime{at}} }
	of := func(name string, get func(at time.Time) object.Value) object.Field {
		return object.Field{Name: name, Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return get(object.Own[offsetTime](v).at), nil
		}}
	}

	on := func(
		name string, least, most int, do func(at time.Time, c *object.Call) (object.Value, error),
	) object.Method {
		return object.Method{Name: name, Least: least, Most: most, Do: func(c *object.Call) (object.Value, error) {
			return do(object.Own[offsetTime](c.On).at, c)
		}}
	}

	now := func(name string, get func() time.Time) object.Field {
		return object.Field{Name: name, Get: func(*session.State, object.Value) (object.Value, error) {
			return made(get()), nil
		}}
	}

	unix := func(name string, per int64) object.Method {
		return object.Method{Name: name, Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			n, err := c.Whole(0)
			return made(time.Unix(n/per, n%per*(1e9/per)).UTC()), err
		}}
	}

	parse := func(s string) (object.Value, error) {
		d, err := object.ParseDate(s)
		if err != nil {
			return nil, err
		}
		if at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(s)); err == nil {
			return made(at), nil
		}
		return made(d.(object.DateTime).At), nil
	}

	add := func(name string, unit time.Duration) object.Method {
		return on(name, 1, 1, func(at time.Time, c *object.Call) (object.Value, error) {
			n, err := object.Floating(c.Arg(0))
			return made(at.Add(time.Duration(n * float64(unit)))), err
		})
	}

	text := func(at time.Time, format string) (string, error) {
		if format == "" {
			format = "M/d/yyyy h:mm:ss tt zzz"
		}
		return object.DateTime{At: at}.Format(format)
	}

	return &object.Class{
		Name:         "System.DateTimeOffset",
		Others:       []string{"datetimeoffset"},
		ByProperties: true,
		Text: func(v any) string {
			s, _ := text(v.(offsetTime).at, "MM/dd/yyyy HH:mm:ss zzz") // a format that there is
			return s
		},
		Same: func(v any) string { return v.(offsetTime).at.UTC().String() },
		Make: &object.Method{Least: 1, Most: 2, Do: func(c *object.Call) (object.Value, error) {
			if d, ok := c.Arg(0).(object.DateTime); ok {
				return made(d.At), nil
			}
			return parse(c.Text(0))
		}},
		Fields: []object.Field{now("Now", time.Now), now("UtcNow", func() time.Time { return time.Now().UTC() })},
		Calls: []object.Method{
			unix("FromUnixTimeSeconds", 1), unix("FromUnixTimeMilliseconds", 1000),
			{Name: "Parse", Least: 1, Most: 2, Do: func(c *object.Call) (object.Value, error) { return parse(c.Text(0)) }},
		},
		Props: []object.Field{
			of("DateTime", func(at time.Time) object.Value { return object.DateTime{At: at} }),
			of("UtcDateTime", func(at time.Time) object.Value { return object.DateTime{At: at.UTC()} }),
			of("LocalDateTime", func(at time.Time) object.Value { return object.DateTime{At: at.Local()} }),
			of("Date", func(at time.Time) object.Value {
				return object.DateTime{At: time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())}
			}),
			of("Year", func(at time.Time) object.Value { return int64(at.Year()) }),
			of("Month", func(at time.Time) object.Value { return int64(at.Month()) }),
			of("Day", func(at time.Time) object.Value { return int64(at.Day()) }),
			of("Hour", func(at time.Time) object.Value { return int64(at.Hour()) }),
			of("Minute", func(at time.Time) object.Value { return int64(at.Minute()) }),
			of("Second", func(at time.Time) object.Value { return int64(at.Second()) }),
			of("Offset", func(at time.Time) object.Value {
				_, seconds := at.Zone()
				return &object.Instance{Of: object.SpanClass(), V: time.Duration(seconds) * time.Second}
			}),
		},
		Methods: []object.Method{
			add("AddDays", 24*time.Hour), add("AddHours", time.Hour), add("AddMinutes", time.Minute),
			add("AddSeconds", time.Second), add("AddMilliseconds", time.Millisecond),
			on("ToUnixTimeSeconds", 0, 0, func(at time.Time, _ *object.Call) (object.Value, error) { return at.Unix(), nil }),
			on("ToUnixTimeMilliseconds", 0, 0, func(at time.Time, _ *object.Call) (object.Value, error) {
				return at.UnixMilli(), nil
			}),
			on("ToUniversalTime", 0, 0, func(at time.Time, _ *object.Call) (object.Value, error) { return made(at.UTC()), nil }),
			on("ToLocalTime", 0, 0, func(at time.Time, _ *object.Call) (object.Value, error) { return made(at.Local()), nil }),
			on("ToString", 0, 1, func(at time.Time, c *object.Call) (object.Value, error) { return text(at, c.Text(0)) }),
		},
	}
}
