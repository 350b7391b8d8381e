package powershell

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// The operator -f and [string]::Format: .NET's composite formatting
// (https://learn.microsoft.com/en-us/dotnet/standard/base-types/composite-formatting), in the culture en-US.

// formatOperator is $format -f $arguments.
func formatOperator(a, b value) (value, error) {
	args, several := b.([]value)
	if !several {
		args = []value{b}
	}
	s, err := composite(text(a), args)
	if e, ok := err.(*exception); ok { //nolint:errorlint // composite's own, not wrapped
		return nil, raise(runtimeException, "Error formatting a string: "+e.message+".")
	}
	return s, err
}

func badFormat() error {
	return raise("System.FormatException", "Input string was not in a correct format.")
}

// composite puts values into the places {0}, {1,10}, {2:N1} of a text.
func composite(format string, args []value) (string, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		switch r := format[i]; {
		case (r == '{' || r == '}') && i+1 < len(format) && format[i+1] == r:
			b.WriteByte(r)
			i++
		case r == '}':
			return "", badFormat()
		case r == '{':
			end := strings.IndexByte(format[i:], '}')
			if end < 0 {
				return "", badFormat()
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

// placed is the text of one place: its number, perhaps a width after a comma, perhaps a format after a colon.
func placed(place string, args []value) (string, error) {
	place, format, _ := strings.Cut(place, ":")
	number, width, aligned := strings.Cut(place, ",")
	n, err := strconv.ParseUint(strings.TrimRight(number, " "), 10, 31)
	if err != nil {
		return "", badFormat()
	}
	columns := 0
	if aligned {
		columns, err = strconv.Atoi(strings.TrimSpace(width))
		if err != nil || columns < -1000000 || columns > 1000000 {
			return "", badFormat()
		}
	}
	if n >= uint64(len(args)) {
		return "", raise("System.FormatException", "Index (zero based) must be greater than or equal to zero and less "+
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

// formattedAs is a value as text in a format. Only numbers, times, numbered names and GUIDs have formats.
func formattedAs(v value, format string) (string, error) {
	v = plain(v)
	if format == "" {
		if l, ok := v.([]value); ok {
			return typeName(l), nil
		}
		return text(v), nil
	}
	switch v := v.(type) {
	case int64:
		return formatNumber(wholeDigits(v), format)
	case float64:
		return formatNumber(floatDigits(v), format)
	case moment:
		return v.format(format)
	case enum:
		switch lower(format) {
		case "g", "f":
			return v.text(), nil
		}
		return formatNumber(wholeDigits(v.n), format)
	case []value:
		return typeName(v), nil
	case *instance:
		if v.of.name == guidName {
			return guidFormat(v, format)
		}
		if v.of.name == spanName {
			return "", thrown("The format %q of a time span is not part of Mullion's PowerShell.", format)
		}
	}
	return text(v), nil
}
