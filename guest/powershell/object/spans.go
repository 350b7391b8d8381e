package object

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// SpanName is the class TimeSpan.
const SpanName = "System.TimeSpan"

// Span returns a TimeSpan.
func Span(d time.Duration) *Instance { return &Instance{SpanClass(), d} }

// SpanClass returns the class System.TimeSpan.
func SpanClass() *Class {
	of := func(name string, get func(d time.Duration) Value) Field {
		return Field{
			Name: name,
			Get: func(_ *session.State, v Value) (Value, error) {
				return get(Own[time.Duration](v)), nil
			},
		}
	}

	total := func(name string, unit time.Duration) Field {
		return of(name, func(d time.Duration) Value { return float64(d) / float64(unit) })
	}

	part := func(name string, unit time.Duration, of60 int64) Field {
		return of(name, func(d time.Duration) Value {
			n := int64(d / unit)
			if of60 > 0 {
				n %= of60
			}
			return n
		})
	}

	from := func(name string, unit time.Duration) Method {
		return Method{
			Name:  name,
			Least: 1,
			Most:  1,
			Do: func(c *Call) (Value, error) {
				n, err := Floating(c.Arg(0))
				return &Instance{SpanClass(), time.Duration(n * float64(unit))}, err
			},
		}
	}

	return &Class{
		Name:         SpanName,
		ByProperties: true,
		Others:       []string{"timespan"},
		Text:         func(v any) string { return spanText(v.(time.Duration)) },
		Same:         func(v any) string { return spanText(v.(time.Duration)) },
		Convert:      ToSpan,
		Fields: []Field{
			{Name: "Zero", Get: func(*session.State, Value) (Value, error) { return Span(0), nil }},
			{Name: "MaxValue", Get: func(*session.State, Value) (Value, error) { return Span(system.Infinite), nil }},
		},
		Calls: []Method{
			from("FromDays", 24*time.Hour), from("FromHours", time.Hour), from("FromMinutes", time.Minute),
			from("FromSeconds", time.Second), from("FromMilliseconds", time.Millisecond),
			{Name: "Parse", Least: 1, Most: 1, Do: func(c *Call) (Value, error) { return ParseSpan(c.Text(0)) }},
		},
		Methods: []Method{
			{Name: "Add", Least: 1, Most: 1, Do: func(c *Call) (Value, error) { return spanned(c, 1) }},
			{Name: "Subtract", Least: 1, Most: 1, Do: func(c *Call) (Value, error) { return spanned(c, -1) }},
			{Name: "Negate", Do: func(c *Call) (Value, error) { return Span(-Own[time.Duration](c.On)), nil }},
			{Name: "Duration", Do: func(c *Call) (Value, error) { return Span(Own[time.Duration](c.On).Abs()), nil }},
			{Name: "ToString", Most: 1, Do: func(c *Call) (Value, error) {
				d := Own[time.Duration](c.On)
				if len(c.Args) == 0 {
					return spanText(d), nil
				}
				return SpanFormat(d, c.Text(0))
			}},
		},
		Make: &Method{
			Least: 3,
			Most:  4,
			Do: func(c *Call) (Value, error) {
				d := time.Duration(0)
				units := []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}
				for i := range c.Args {
					n, err := c.Whole(i)
					if err != nil {
						return nil, err
					}
					d += time.Duration(n) * units[i+len(units)-len(c.Args)]
				}
				return &Instance{SpanClass(), d}, nil
			},
		},
		Props: []Field{
			part("Days", 24*time.Hour, 0), part("Hours", time.Hour, 24), part("Minutes", time.Minute, 60),
			part("Seconds", time.Second, 60), part("Milliseconds", time.Millisecond, 1000),
			of("Ticks", func(d time.Duration) Value { return int64(d) / 100 }),
			total("TotalDays", 24*time.Hour), total("TotalHours", time.Hour), total("TotalMinutes", time.Minute),
			total("TotalSeconds", time.Second), total("TotalMilliseconds", time.Millisecond),
		},
	}
}

// spanText returns a time span as text: days.hours:minutes:seconds.parts.
func spanText(d time.Duration) string {
	if d == system.Infinite {
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

// spanned returns a span with another one added, as often as it says.
func spanned(c *Call, times time.Duration) (Value, error) {
	other, err := ToSpan(c.Arg(0))
	if err != nil {
		return nil, err
	}
	return Span(Own[time.Duration](c.On) + times*Own[time.Duration](other)), nil
}

// ToSpan converts a value to a TimeSpan: a text, or a number of ticks.
func ToSpan(v Value) (Value, error) {
	switch plain := Plain(v).(type) {
	case int64:
		return Span(time.Duration(plain) * 100), nil
	case string:
		made, err := ParseSpan(plain)
		if err != nil {
			return nil, Unconverted(v, SpanName, "String was not recognized as a valid TimeSpan.")
		}
		return made, nil
	}

	if i, ok := v.(*Instance); ok && i.Of.Name == SpanName {
		return v, nil
	}

	return nil, CannotConvert(v, SpanName)
}

// spanForm is how a TimeSpan is written: days, or days, hours, minutes, seconds and their parts
// (https://learn.microsoft.com/en-us/dotnet/api/system.timespan.parse).
var spanForm = lazyregexp.New(`^(-)?(?:(\d{1,8})|(?:(\d{1,8})\.)?(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,7}))?)?)$`)

// ParseSpan reads a TimeSpan.
func ParseSpan(text string) (Value, error) {
	wrong := Raise("System.FormatException", "String was not recognized as a valid TimeSpan.")
	m := spanForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return nil, wrong
	}

	number := func(i int) time.Duration {
		n, _ := strconv.Atoi(m[i]) // digits, or nothing
		return time.Duration(n)
	}

	parts, _ := strconv.Atoi((m[7] + "0000000")[:7]) // digits
	days := number(2) + number(3)
	if days > 106000 || number(4) > 23 || number(5) > 59 || number(6) > 59 {
		return nil, Raise("System.OverflowException", "The TimeSpan could not be parsed because at least one of the numeric "+
			"components is out of range or contains too many digits.")
	}

	d := days*24*time.Hour + number(4)*time.Hour + number(5)*time.Minute
	d += number(6)*time.Second + time.Duration(parts)*100
	if m[1] != "" {
		d = -d
	}

	return Span(d), nil
}

// SpanFormat returns a TimeSpan in a format: c, g or one of its own such as hh\:mm
// (https://learn.microsoft.com/en-us/dotnet/standard/base-types/custom-timespan-format-strings).
func SpanFormat(d time.Duration, format string) (string, error) {
	switch format {
	case "", "c", "t", "T":
		return spanText(d), nil
	case "g":
		text := fmt.Sprintf("%d:%02d:%02d", int(d.Abs().Hours())%24, int(d.Abs().Minutes())%60, int(d.Abs().Seconds())%60)
		if days := int(d.Abs().Hours()) / 24; days > 0 {
			text = fmt.Sprintf("%d:%s", days, text)
		}
		if d < 0 {
			text = "-" + text
		}
		return text, nil
	}

	return spanOwnFormat(d.Abs(), format)
}

// spanOwnFormat returns a TimeSpan in a format of letters, texts in quotes and characters after a backslash.
func spanOwnFormat(d time.Duration, format string) (string, error) {
	wrong := Raise("System.FormatException", "Input string was not in a correct format.")
	var b strings.Builder
	for at := 0; at < len(format); {
		c, end := format[at], at+1
		switch c {
		case '\\':
			if end == len(format) {
				return "", wrong
			}
			b.WriteByte(format[end])
			at += 2
			continue

		case '\'', '"':
			length := strings.IndexByte(format[end:], c)
			if length < 0 {
				return "", wrong
			}
			b.WriteString(format[end : end+length])
			at = end + length + 1
			continue

		case '%':
			at++
			continue
		}

		for end < len(format) && format[end] == c {
			end++
		}

		part, ok := spanPart(d, c, end-at)
		if !ok {
			return "", wrong
		}

		b.WriteString(part)
		at = end
	}

	return b.String(), nil
}

// spanPart returns a part of a TimeSpan, of so many digits; false if a letter means none.
func spanPart(d time.Duration, letter byte, digits int) (string, bool) {
	const most, mostDays = 2, 8
	switch letter {
	case 'd':
		return fmt.Sprintf("%0*d", digits, int(d.Hours())/24), digits <= mostDays
	case 'h':
		return fmt.Sprintf("%0*d", digits, int(d.Hours())%24), digits <= most
	case 'm':
		return fmt.Sprintf("%0*d", digits, int(d.Minutes())%60), digits <= most
	case 's':
		return fmt.Sprintf("%0*d", digits, int(d.Seconds())%60), digits <= most
	case 'f':
		all := fmt.Sprintf("%07d", int64(d%time.Second/100))
		return all[:min(digits, len(all))], digits <= len(all)
	}

	return "", false
}
