package clixml

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// escaped returns a text as it stands in an element: control characters, halves of pairs and what looks like an
// escape are written as _xHHHH_ ([MS-PSRP] 2.2.5.3.2).
func escaped(text string) string {
	units := utf16.Encode([]rune(text))
	var b strings.Builder
	for i, u := range units {
		looksSo := u == '_' && i+1 < len(units) && (units[i+1] == 'x' || units[i+1] == 'X')
		if u < ' ' || (u >= 0x7f && u < 0xa0) || utf16.IsSurrogate(rune(u)) || looksSo || u >= 0xfffe {
			fmt.Fprintf(&b, "_x%04X_", u)
			continue
		}
		b.WriteRune(rune(u))
	}
	return b.String()
}

var escapeForm = lazyregexp.New(`_[xX][0-9A-Fa-f]{4}_`)

// unescaped undoes escaped.
func unescaped(text string) string {
	if !strings.Contains(text, "_") {
		return text
	}
	var units []uint16
	for text != "" {
		at := escapeForm.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		units = append(units, utf16.Encode([]rune(text[:at[0]]))...)
		n, _ := strconv.ParseUint(text[at[0]+2:at[1]-1], 16, 16) // digits
		units = append(units, uint16(n))
		text = text[at[1]:]
	}
	return string(utf16.Decode(append(units, utf16.Encode([]rune(text))...)))
}

// timeText returns a time as XML has it: with its zone.
func timeText(at time.Time) string {
	if at.Location() == time.UTC {
		return at.Format("2006-01-02T15:04:05.9999999Z")
	}
	return at.Format("2006-01-02T15:04:05.9999999-07:00")
}

// parseTime reads a time; one without a zone is of this one.
func parseTime(text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		if strings.HasSuffix(text, "Z") {
			return at.UTC(), nil
		}
		return at.Local(), nil
	}
	return time.ParseInLocation("2006-01-02T15:04:05.9999999", text, time.Local)
}

// spanText returns a duration as XML has it (xs:duration): P1DT2H3M4.5S.
func spanText(d time.Duration) string {
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
	}
	b.WriteByte('P')
	rest := d.Abs()
	if days := rest / (24 * time.Hour); days > 0 {
		fmt.Fprintf(&b, "%dD", days)
		rest -= days * 24 * time.Hour
	}
	if rest == 0 && d != 0 {
		return b.String()
	}

	b.WriteByte('T')
	for _, part := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "H"}, {time.Minute, "M"}} {
		if n := rest / part.of; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, part.name)
			rest -= n * part.of
		}
	}
	if rest > 0 || d == 0 {
		b.WriteString(strconv.FormatFloat(rest.Seconds(), 'f', -1, 64) + "S")
	}
	return b.String()
}

var spanForm = lazyregexp.New(`^(-)?P(?:(\d{1,6})D)?(?:T(?:(\d{1,8})H)?(?:(\d{1,10})M)?(?:(\d{1,12})(?:\.(\d{1,9}))?S)?)?$`)

// parseSpan reads a duration of days, hours, minutes and seconds.
func parseSpan(text string) (time.Duration, error) {
	m := spanForm.FindStringSubmatch(text)
	if m == nil || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return 0, fmt.Errorf("%q is no duration", text)
	}

	total := time.Duration(0)
	for i, of := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.ParseInt("0"+m[i+2], 10, 64) // digits
		if n > int64((1<<63-1-total)/of) {
			return 0, fmt.Errorf("%q is too long", text)
		}
		total += time.Duration(n) * of
	}
	parts, _ := strconv.ParseInt((m[6] + "000000000")[:9], 10, 64) // digits
	if total += time.Duration(parts); total < 0 {
		return 0, fmt.Errorf("%q is too long", text)
	}
	if m[1] != "" {
		total = -total
	}
	return total, nil
}
