package object

import "strings"

// The limits that .NET has: what is larger is an OutOfMemoryException of the statement, not the end of the process.
const (
	// MostText is how many bytes a text has at most, about as many characters as .NET's longest.
	MostText = 1 << 30
	// MostItems is how many items a list has at most that is made by a number.
	MostItems = 1 << 26
)

// TooLarge returns the error of a value that is larger than memory can have it.
func TooLarge() error {
	return &Exception{
		Class:    "System.OutOfMemoryException",
		ID:       "System.OutOfMemoryException",
		Category: OperationStopped,
		Message:  "Exception of type 'System.OutOfMemoryException' was thrown.",
	}
}

// TextOf returns parts as one text, with another text between them.
func TextOf(parts []string, between string) (string, error) {
	n := len(between) * max(0, len(parts)-1)
	for _, part := range parts {
		if n += len(part); n > MostText {
			return "", TooLarge()
		}
	}
	return strings.Join(parts, between), nil
}

// Repeated returns a text or list several times.
func Repeated(v Value, n int64) (Value, error) {
	switch v := v.(type) {
	case string:
		if n > MostText/int64(max(len(v), 1)) {
			return nil, TooLarge()
		}
		return strings.Repeat(v, int(n)), nil
	case []Value:
		if n > MostItems/int64(max(len(v), 1)) {
			return nil, TooLarge()
		}
		out := make([]Value, 0, len(v)*int(n))
		for range n {
			out = append(out, v...)
		}
		return out, nil
	}

	return nil, CannotConvert(v, "System.String")
}

// Listed returns a range as the list of its numbers, and another value as it is.
func Listed(v Value) (Value, error) {
	r, is := v.(Range)
	if !is {
		return v, nil
	}
	n := max(r.To-r.From, r.From-r.To) + 1
	if n > MostItems {
		return nil, TooLarge()
	}
	out := make([]Value, 0, n)
	for item := range r.each {
		out = append(out, item)
	}
	return out, nil
}

// within returns the text of a part of an object or list: what is in that again is not taken apart.
func within(v Value, object bool) string {
	switch v := v.(type) {
	case []Value, Range, *ArrayList:
		return TypeName(v)
	case *Object:
		if v.Kind == Custom && object && v.Shown == nil {
			return ""
		}
	case *Instance:
		if v.Of.Text == nil && v.Of.Each != nil {
			return v.Of.Name
		}
	}

	return Text(v)
}
