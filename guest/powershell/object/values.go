package object

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// Plain returns a value without the text as which it was written (see number).
func Plain(v Value) Value {
	switch v := v.(type) {
	case Number:
		return v.V
	case []Value:
		if !slices.ContainsFunc(v, func(item Value) bool { _, is := item.(Number); return is }) {
			return v // a list stays the same list
		}
		out := make([]Value, len(v))
		for i, item := range v {
			out[i] = Plain(item)
		}
		return out
	}

	return v
}

// One returns nil for no values, a single value by itself, and several as a list.
func One(got []Value) Value {
	switch len(got) {
	case 0:
		return nil
	case 1:
		return got[0]
	}
	return got
}

// Each goes through the items of a value.
func Each(v Value) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		switch v := v.(type) {
		case nil:
		case []Value:
			for _, item := range v {
				if !yield(item) {
					return
				}
			}
		case *ArrayList:
			Each(slices.Clone(v.Items))(yield)
		case Range:
			v.each(yield)
		default:
			if i, ok := v.(*Instance); ok && i.Of.Each != nil {
				Each(i.Of.Each(i.V))(yield)
				return
			}
			yield(v)
		}
	}
}

// each goes through the numbers of a range.
func (s Range) each(yield func(Value) bool) {
	step := int64(1)
	if s.To < s.From {
		step = -1
	}
	for i := s.From; ; i += step {
		if !yield(i) || i == s.To {
			return
		}
	}
}

// Text returns a value as a string.
func Text(v Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		switch {
		case math.IsInf(v, 0):
			return FloatDigits(v).special
		case v == 0: // the .NET Framework shows no sign of it
			return "0"
		}
		return strconv.FormatFloat(v, 'G', 15, 64)
	case Number:
		return v.Text
	case interface{ Text() string }: // names of numbers, times and objects
		return v.Text()
	case *ScriptBlock:
		return v.Words
	case *Hashtable:
		return TypeName(v)
	case []Value, Range, *ArrayList:
		return joinedText(v)
	}

	return fmt.Sprint(v)
}

// Text returns an object as text: its own words, its items, or the name of its class.
func (i *Instance) Text() string {
	switch {
	case i.Of.Text != nil:
		return i.Of.Text(i.V)
	case i.Of.Each != nil:
		return joinedText(i)
	}
	return i.Of.Name
}

// joinedText returns the texts of a value's items.
func joinedText(v Value) string {
	var parts []string
	for item := range Each(v) {
		parts = append(parts, within(item, false))
	}
	return strings.Join(parts, " ")
}

// Truth returns a value as a condition.
func Truth(v Value) bool {
	switch v := Plain(v).(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case Enum:
		return v.N != 0
	case float64:
		return v != 0
	case []Value:
		return len(v) > 1 || (len(v) == 1 && Truth(v[0]))
	case *ArrayList:
		return Truth(v.Items)
	}

	return true
}

// Fatal returns an error that ends the script, as one that it throws.
func Fatal(format string, args ...any) error {
	return &Leaving{Word: "throw", What: fmt.Sprintf(format, args...)}
}

// Thrown returns an error of PowerShell's, which ends a statement.
func Thrown(format string, args ...any) error {
	return &Leaving{
		Word: "throw",
		What: fmt.Sprintf(format, args...),
		own:  true,
	}
}

// ParseInteger reads an integer of PowerShell: decimal, or hexadecimal after 0x. Leading zeros have no meaning. A
// hexadecimal number with the highest of 32 or 64 bits set is negative.
func ParseInteger(s string) (int64, error) {
	digits := strings.TrimPrefix(s, "-")
	hex, ok := strings.CutPrefix(strings.ToLower(digits), "0x")
	if !ok {
		return strconv.ParseInt(s, 10, 64)
	}

	u, err := strconv.ParseUint(hex, 16, 64)
	n := int64(u) // so it is meant
	if len(hex) <= 8 {
		n = int64(int32(u)) // so it is meant
	}
	if digits != s {
		n = -n
	}

	return n, err
}

// WrittenNumber matches numbers without a type, perhaps with a unit.
var WrittenNumber = lazyregexp.New(
	`(?i)^([+-]?(?:0x[0-9a-f]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))([kmgtp]b)?$`,
)

// ParseNumber reads a number as written in a script. Integers of more than 64 bits are not numbers.
func ParseNumber(s string) (Value, bool) {
	m := WrittenNumber.FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}

	unit := int64(1)
	if m[2] != "" {
		unit <<= 10 * (1 + strings.IndexByte("kmgtp", strings.ToLower(m[2])[0]))
	}

	hex := strings.ContainsAny(m[1], "xX")
	if hex || !strings.ContainsAny(m[1], ".eE") {
		n, err := ParseInteger(strings.TrimPrefix(m[1], "+"))
		product, ok := Integers("*", n, unit)
		return product, ok && err == nil
	}

	n, err := strconv.ParseFloat(m[1], 64)
	return n * float64(unit), err == nil
}

// Integer returns a value as an integer.
func Integer(v Value) (int64, error) {
	switch v := Plain(v).(type) {
	case nil:
		return 0, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case Enum:
		return v.N, nil
	case int64:
		return v, nil
	case float64:
		r := math.RoundToEven(v)
		if math.IsNaN(r) || r < math.MinInt64 || r >= math.MaxInt64 {
			return 0, Unconverted(v, "System.Int64", OutOfRange("Int64"))
		}
		return int64(r), nil
	case string:
		n, err := ParseInteger(strings.TrimSpace(v))
		if err != nil {
			if errors.Is(err, strconv.ErrRange) {
				return 0, Unconverted(v, "System.Int64", OutOfRange("Int64"))
			}
			return 0, Unconverted(v, "System.Int32", NotANumber)
		}
		return n, nil
	}

	return 0, Thrown("Cannot convert %s to a number.", Text(v))
}

// Floating returns a value as a floating number.
func Floating(v Value) (float64, error) {
	switch v := Plain(v).(type) {
	case float64:
		return v, nil
	case string:
		if n, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return n, nil
		}
	}
	n, err := Integer(v)
	return float64(n), err
}

// Joined returns the result of + if a is a string, a list or $null, and false for other values.
func Joined(a, b Value) (Value, bool) {
	switch x := a.(type) {
	case string:
		return x + Text(b), true
	case []Value:
		out := append([]Value{}, x...)
		for item := range Each(b) {
			out = append(out, item)
		}
		return out, true
	case nil:
		return b, true
	}

	return nil, false
}

// Floats does arithmetic with floating numbers.
func Floats(op string, p, q float64) (Value, error) {
	switch op {
	case "+":
		return p + q, nil
	case "-":
		return p - q, nil
	case "*":
		return p * q, nil
	}

	if q == 0 {
		return nil, &Exception{
			Class:    RuntimeException,
			Inner:    "System.DivideByZeroException",
			Category: notSpecified,
			Message:  "Attempted to divide by zero.",
		}
	}

	if op == "%" {
		return math.Mod(p, q), nil
	}

	return p / q, nil
}

// Whole returns a value's integer, nil if it is none.
func Whole(v Value) *int64 {
	switch v.(type) {
	case float64:
		return nil
	}
	n, err := Integer(v)
	if err != nil {
		return nil
	}
	return &n
}

// Integers does arithmetic exactly, and returns false if the result is no integer of 64 bits.
func Integers(op string, a, b int64) (Value, bool) {
	switch op {
	case "+":
		s := a + b
		return s, (s > a) == (b > 0)
	case "-":
		d := a - b
		return d, (d < a) == (b > 0)
	case "*":
		if a == 0 || b == 0 {
			return int64(0), true
		}
		m := a * b
		return m, m/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64)
	case "/":
		if b != 0 && a%b == 0 {
			return a / b, true
		}
	case "%":
		if b != 0 {
			return a % b, true
		}
	}

	return nil, false
}
