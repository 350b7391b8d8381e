package utility

import (
	"fmt"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
)

// getDate outputs now or a given time, with -Format as text.
func getDate(c *cmdlet.Call) error {
	items := c.Items("date")
	if len(items) == 0 && !c.Piped {
		items = []object.Value{object.DateTime{At: time.Now()}}
	}

	for _, item := range items {
		v, err := dotnet.ToDate(item)
		if err != nil {
			return err
		}
		if v, err = withParts(c, v); err != nil {
			return err
		}

		if format, given := c.Values["uformat"]; given {
			m, _ := v.(object.DateTime)
			v = unixFormat(m, object.Text(format))
		}

		if format, given := c.Values["format"]; given {
			m, _ := v.(object.DateTime)
			if v, err = m.Format(object.Text(format)); err != nil {
				return err
			}
		}
		if err := c.Out.Put(v); err != nil {
			return err
		}
	}

	return nil
}

// withParts returns a time with the parts that parameters set: -Year, -Hour and others.
func withParts(c *cmdlet.Call, v object.Value) (object.Value, error) {
	m, ok := v.(object.DateTime)
	if !ok {
		return v, nil
	}

	at := m.At
	parts := []int{at.Year(), int(at.Month()), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond() / 1e6}
	set := false
	for i, name := range dateParts() {
		n, given := c.Values[name]
		if !given {
			continue
		}
		whole, err := object.Integer(n)
		if err != nil {
			return nil, err
		}
		parts[i], set = int(whole), true
	}

	if !set {
		return v, nil
	}
	rest := at.Nanosecond() % 1e6
	return object.DateTime{At: time.Date(parts[0], time.Month(parts[1]), parts[2], parts[3], parts[4], parts[5],
		parts[6]*1e6+rest, at.Location())}, nil
}

// dateParts returns the parameters that set a part of a time.
func dateParts() []string {
	return []string{"year", "month", "day", "hour", "minute", "second", "millisecond"}
}

// unixFormat returns a time in a format of Unix
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/get-date#notes).
func unixFormat(m object.DateTime, format string) string {
	at := m.At
	parts := map[rune]string{
		'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM",
		'A': "Monday", 'a': "Mon", 'B': "January", 'b': "Jan", 'h': "Jan", 'D': "01/02/06", 'x': "01/02/06", 'T': "15:04:05",
		'X': "15:04:05", 'R': "15:04", 'r': "03:04:05 PM", 'c': "Mon Jan _2 15:04:05 2006", 'Z': "-07", 'F': "2006-01-02",
	}

	var b strings.Builder
	runes := []rune(strings.TrimPrefix(format, "+"))
	for i := 0; i < len(runes); i++ {
		if runes[i] != '%' || i+1 == len(runes) {
			b.WriteRune(runes[i])
			continue
		}

		i++
		layout, known := parts[runes[i]]
		switch {
		case known:
			b.WriteString(at.Format(layout))
		case runes[i] == 's':
			fmt.Fprintf(&b, "%d", at.Unix())
		case runes[i] == 'j':
			fmt.Fprintf(&b, "%03d", at.YearDay())
		case runes[i] == 'u', runes[i] == 'w':
			fmt.Fprintf(&b, "%d", int(at.Weekday()))
		case runes[i] == 'n':
			b.WriteString("\n")
		case runes[i] == 't':
			b.WriteString("\t")
		default:
			b.WriteRune(runes[i])
		}
	}

	return b.String()
}
