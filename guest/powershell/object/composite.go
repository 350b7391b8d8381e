package object

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// The operator -f and [string]::Format: .NET's composite formatting
// (https://learn.microsoft.com/en-us/dotnet/standard/base-types/composite-formatting), in the culture en-US.

// FormatOperator returns $format -f $arguments.
func FormatOperator(a, b Value) (Value, error) {
	args, several := b.([]Value)
	if !several {
		args = []Value{b}
	}
	s, err := Composite(Text(a), args)
	if e, ok := err.(*Exception); ok { //nolint:errorlint // composite's own, not wrapped
		return nil, Raise(RuntimeException, "Error formatting a string: "+e.Message+".")
	}
	return s, err
}

// BadFormat returns the error of a format that is not understood.
func BadFormat() error {
	return Raise("System.FormatException", "Input string was not in a correct format.")
}

// Composite puts values into the places {0}, {1,10}, {2:N1} of a text.
func Composite(format string, args []Value) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		switch r := format[i]; {
		case (r == '{' || r == '}') && i+1 < len(format) && format[i+1] == r:
			b.WriteByte(r)
			i++
		case r == '}':
			return "", BadFormat()
		case r == '{':
			end := strings.IndexByte(format[i:], '}')
			if end < 0 {
				return "", BadFormat()
			}
			s, err := placed(format[i+1:i+end], args)
			if err != nil {
				return "", err
			}
			b.WriteString(s)
			i += end
		default:
			b.WriteByte(r)
		}
	}

	return b.String(), nil
}

// placed returns the text of one place: its number, perhaps a width after a comma, perhaps a format after a colon.
func placed(place string, args []Value) (string, error) {
	place, format, _ := strings.Cut(place, ":")
	number, width, aligned := strings.Cut(place, ",")
	n, err := strconv.ParseUint(strings.TrimRight(number, " "), 10, 31)
	if err != nil {
		return "", BadFormat()
	}

	columns := 0
	if aligned {
		columns, err = strconv.Atoi(strings.TrimSpace(width))
		if err != nil || columns < -1000000 || columns > 1000000 {
			return "", BadFormat()
		}
	}

	if n >= uint64(len(args)) {
		return "", Raise("System.FormatException", "Index (zero based) must be greater than or equal to zero and less "+
			"than the size of the argument list.")
	}

	s, err := formattedAs(args[n], format)
	if err != nil {
		return "", err
	}

	pad := strings.Repeat(" ", max(0, max(columns, -columns)-len(utf16.Encode([]rune(s)))))
	if columns < 0 {
		return s + pad, nil
	}

	return pad + s, nil
}

// formattedAs returns a value as text in a format. Only numbers, times, numbered names and GUIDs have formats.
func formattedAs(v Value, format string) (string, error) {
	v = Plain(v)
	if format == "" {
		if l, ok := v.([]Value); ok {
			return TypeName(l), nil
		}
		return Text(v), nil
	}

	switch v := v.(type) {
	case int64:
		return FormatNumber(wholeDigits(v), format)
	case float64:
		return FormatNumber(FloatDigits(v), format)
	case DateTime:
		return v.Format(format)
	case Enum:
		switch strings.ToLower(format) {
		case "g", "f":
			return v.Text(), nil
		}
		return FormatNumber(wholeDigits(v.N), format)
	case []Value:
		return TypeName(v), nil
	case *Instance:
		if v.Of.Name == GUIDName {
			return guidFormat(v, format)
		}
		if v.Of.Name == SpanName {
			return SpanFormat(Own[time.Duration](v), format)
		}
	}

	return Text(v), nil
}
