package object

import (
	"math"
	"strconv"
	"strings"
)

// The formats of numbers
// (https://learn.microsoft.com/en-us/dotnet/standard/base-types/standard-numeric-format-strings,
// https://learn.microsoft.com/en-us/dotnet/standard/base-types/custom-numeric-format-strings), as the .NET Framework
// has them in the culture en-US.

// digits is a decimal number: 0.digits times ten to the power of point.
type digits struct {
	negative bool
	text     string // without zeros at its beginning
	point    int
	whole    *int64 // if it is an integer
	special  string // NaN, ∞ and -∞
}

func wholeDigits(n int64) digits {
	s := strconv.FormatInt(n, 10)
	t := strings.TrimPrefix(s, "-")
	d := digits{
		negative: n < 0,
		text:     t,
		point:    len(t),
		whole:    &n,
	}

	if n == 0 {
		d.text, d.point = "", 0
	}

	return d
}

// FloatDigits returns the fifteen digits of a floating number that the .NET Framework shows.
func FloatDigits(n float64) digits {
	switch {
	case math.IsNaN(n):
		return digits{special: "NaN"}
	case math.IsInf(n, 1):
		return digits{special: "Infinity"}
	case math.IsInf(n, -1):
		return digits{special: "-Infinity"}
	case n == 0:
		return digits{}
	}

	s := strconv.FormatFloat(math.Abs(n), 'e', 14, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exponent) // it is one
	t := strings.TrimRight(strings.Replace(mantissa, ".", "", 1), "0")
	return digits{
		negative: n < 0,
		text:     t,
		point:    e + 1,
	}
}

// rounded has at most some digits after the point; half is rounded away from zero.
func (d digits) rounded(places int) digits { return d.cut(d.point + places) }

// cut keeps the first n digits.
func (d digits) cut(n int) digits {
	d.whole = nil
	if n >= len(d.text) {
		return d
	}
	if n < 0 {
		d.text, d.point = "", 0
		return d
	}

	up := d.text[n] >= '5'
	kept := []byte(d.text[:n])
	for i := n - 1; up && i >= 0; i-- {
		if up = kept[i] == '9'; up {
			kept[i] = '0'
		} else {
			kept[i]++
		}
	}

	d.text = string(kept)
	if up {
		d.text = "1" + d.text
		d.point++
	}

	d.text = strings.TrimRight(d.text, "0")
	if d.text == "" {
		d.point = 0
	}

	return d
}

// fixed returns the digits before and after the point, with this many after it.
func (d digits) fixed(places int) (before, after string) {
	d = d.rounded(places)
	before = "0"
	if d.point > 0 {
		before = (d.text + strings.Repeat("0", max(0, d.point-len(d.text))))[:d.point]
	}
	if d.point <= 0 {
		after = strings.Repeat("0", min(places, -d.point)) + d.text
	} else if len(d.text) > d.point {
		after = d.text[d.point:]
	}
	return before, (after + strings.Repeat("0", max(0, places-len(after))))[:places]
}

// grouped puts commas between thousands.
func grouped(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (d digits) zero() bool { return d.text == "" }

// FormatNumber returns a number in a format: a letter with a number of digits, or a picture of digits.
func FormatNumber(d digits, format string) (string, error) {
	letter := rune(format[0])
	precision, err := strconv.Atoi(format[1:])
	if len(format) == 1 {
		precision, err = -1, nil
	}

	isLetter := letter|0x20 >= 'a' && letter|0x20 <= 'z'
	if !isLetter || err != nil || precision > 99 || len(format) > 3 {
		return picture(d, format)
	}
	if d.special != "" {
		return d.special, nil
	}

	switch letter | 0x20 {
	case 'd', 'x':
		return wholeFormat(d, letter, max(precision, 0))
	case 'e':
		if precision < 0 {
			precision = 6
		}
		return d.exponential(precision, letter, 3), nil
	case 'g', 'r':
		return d.general(letter, precision), nil
	case 'f', 'n', 'c', 'p':
		return d.fixedFormat(letter|0x20, precision), nil
	}

	return "", badFormatOf()
}

func badFormatOf() error { return Raise("System.FormatException", "Format specifier was invalid.") }

// fixedFormat returns the number in one of the formats F, N, C and P.
func (d digits) fixedFormat(letter rune, places int) string {
	if places < 0 {
		places = 2
	}
	if letter == 'p' && !d.zero() {
		d.point += 2
	}

	before, after := d.fixed(places)
	nothing := strings.Trim(before+after, "0") == ""
	if letter != 'f' {
		before = grouped(before)
	}

	s := before
	if places > 0 {
		s += "." + after
	}

	negative := d.negative && !nothing
	switch {
	case letter == 'c' && negative:
		return "($" + s + ")"
	case letter == 'c':
		return "$" + s
	case letter == 'p':
		s += " %"
	}

	if negative {
		return "-" + s
	}

	return s
}

// wholeFormat returns a number in the format D or X, which only integers have.
func wholeFormat(d digits, letter rune, places int) (string, error) {
	if d.whole == nil {
		return "", badFormatOf()
	}

	if letter|0x20 == 'd' {
		s := strings.TrimPrefix(strconv.FormatInt(*d.whole, 10), "-")
		s = strings.Repeat("0", max(0, places-len(s))) + s
		if d.negative {
			s = "-" + s
		}
		return s, nil
	}

	u := uint64(*d.whole) // as two's complement
	if n := int32(*d.whole); int64(n) == *d.whole {
		u = uint64(uint32(n)) // an integer of 32 bits has 8 digits
	}

	s := strconv.FormatUint(u, 16)
	if letter == 'X' {
		s = strings.ToUpper(s)
	}

	return strings.Repeat("0", max(0, places-len(s))) + s, nil
}

// exponential returns the number with one digit before the point, and an exponent of at least some digits.
func (d digits) exponential(places int, letter rune, least int) string {
	d = d.cut(places + 1)
	t, e := d.text, d.point-1
	if d.zero() {
		t, e = "0", 0
	}

	t += strings.Repeat("0", max(0, places+1-len(t)))
	s := t[:1]
	if places > 0 {
		s += "." + t[1:]
	}
	if d.negative {
		s = "-" + s
	}

	sign := "+"
	if e < 0 {
		sign, e = "-", -e
	}

	power := strconv.Itoa(e)
	return s + string(letter) + sign + strings.Repeat("0", max(0, least-len(power))) + power
}

// general returns the shorter of fixed and exponential.
func (d digits) general(letter rune, precision int) string {
	most := precision
	if most <= 0 {
		if most = 15; d.whole != nil {
			most = 19
		}
	}

	d = d.cut(most)
	if d.zero() {
		return "0"
	}

	if d.point > most || d.point <= -4 {
		e := 'E'
		if letter == 'g' {
			e = 'e'
		}
		return d.exponential(len(d.text)-1, e, 2)
	}

	before, after := d.fixed(max(0, len(d.text)-d.point))
	if after != "" {
		before += "." + after
	}
	if d.negative {
		return "-" + before
	}

	return before
}

// picture returns a number as a picture of digits shows it: 0 and # for digits, a point, commas, %, and text.
func picture(d digits, format string) (string, error) {
	if d.special != "" {
		return d.special, nil
	}
	if strings.ContainsAny(format, ";‰") || strings.ContainsAny(strings.ToLower(format), "e") {
		return "", Thrown("The format %q of a number is not part of Mullion's PowerShell.", format)
	}

	p, err := readPicture(format)
	if err != nil {
		return "", err
	}
	if p.percent && !d.zero() {
		d.point += 2
	}
	if !d.zero() {
		d.point -= 3 * p.thousands
	}

	before, after := d.fixed(p.most)
	after = after[:max(p.least, len(strings.TrimRight(after, "0")))]
	before = strings.TrimLeft(before, "0")
	before = strings.Repeat("0", max(0, p.before-len(before))) + before
	if p.grouped {
		before = grouped(before)
	}

	s := before
	if after != "" {
		s += "." + after
	}
	if d.negative && strings.Trim(s, "0.,") != "" {
		return "-" + p.first + s + p.last, nil
	}

	return p.first + s + p.last, nil
}

// numberPicture is a picture of digits, and the text around them.
type numberPicture struct {
	first, last         string
	before, least, most int
	thousands           int // commas before the point, each of which divides by 1000
	grouped, percent    bool
	point               bool // it has been read
	commas              int  // read since the last digit
}

// readPicture reads a picture. Text between digits is not implemented.
func readPicture(format string) (numberPicture, error) {
	p := numberPicture{}
	began, ended := false, false
	words := func(s string) {
		if began {
			p.last += s
			ended = true
		} else {
			p.first += s
		}
	}

	for i := 0; i < len(format); i++ {
		switch r := format[i]; r {
		case '0', '#', '.', ',':
			if ended {
				return p, Thrown("The format %q of a number, with text between digits, is not part of Mullion's PowerShell.",
					format)
			}
			began = true
			p.digit(r)
		case '%':
			p.percent = true
			words("%")
		case '\\':
			i++
			if i < len(format) {
				words(format[i : i+1])
			}
		case '\'', '"':
			end := strings.IndexByte(format[i+1:], r)
			if end < 0 {
				return p, BadFormat()
			}
			words(format[i+1 : i+1+end])
			i += end + 1
		default:
			words(format[i : i+1])
		}
	}

	if !p.point {
		p.thousands = p.commas
	}

	return p, nil
}

// digit reads a place of a picture: a digit, the point or a comma.
func (p *numberPicture) digit(r byte) {
	switch {
	case r == ',':
		p.commas++
	case r == '.':
		p.point, p.thousands, p.commas = true, p.commas, 0
	case p.point:
		if p.most++; r == '0' {
			p.least = p.most
		}
	default:
		p.grouped = p.grouped || p.commas > 0
		p.commas = 0
		if r == '0' || p.before > 0 {
			p.before++
		}
	}
}
