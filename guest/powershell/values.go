package powershell

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// plain returns a value without the text as which it was written (see number).
func plain(v value) value {
	switch v := v.(type) {
	case number:
		return v.v
	case []value:
		if !slices.ContainsFunc(v, func(item value) bool { _, is := item.(number); return is }) {
			return v // a list stays the same list
		}
		out := make([]value, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	}
	return v
}

// one returns nil for no values, a single value by itself, and several as a list.
func one(got []value) value {
	switch len(got) {
	case 0:
		return nil
	case 1:
		return got[0]
	}
	return got
}

// each goes through the items of a value.
func each(v value) iter.Seq[value] {
	return func(yield func(value) bool) {
		switch v := v.(type) {
		case nil:
		case []value:
			for _, item := range v {
				if !yield(item) {
					return
				}
			}
		case *arrayList:
			each(slices.Clone(v.items))(yield)
		case span:
			v.each(yield)
		default:
			if i, ok := v.(*instance); ok && i.of.each != nil {
				each(i.of.each(i.v))(yield)
				return
			}
			yield(v)
		}
	}
}

// each goes through the numbers of a range.
func (s span) each(yield func(value) bool) {
	step := int64(1)
	if s.to < s.from {
		step = -1
	}
	for i := s.from; ; i += step {
		if !yield(i) || i == s.to {
			return
		}
	}
}

// text returns a value as a string.
func text(v value) string {
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
		return strconv.FormatFloat(v, 'G', 15, 64)
	case number:
		return v.text
	case interface{ text() string }: // names of numbers, times and objects
		return v.text()
	case *scriptBlock:
		return v.script.text
	case *table:
		return typeName(v)
	case []value, span, *arrayList:
		return joinedText(v)
	}
	return fmt.Sprint(v)
}

// text is an object as text: its own words, its items, or the name of its class.
func (i *instance) text() string {
	switch {
	case i.of.text != nil:
		return i.of.text(i.v)
	case i.of.each != nil:
		return joinedText(i)
	}
	return i.of.name
}

// joinedText is the texts of a value's items.
func joinedText(v value) string {
	var parts []string
	for item := range each(v) {
		parts = append(parts, text(item))
	}
	return strings.Join(parts, " ")
}

// truth returns a value as a condition.
func truth(v value) bool {
	switch v := plain(v).(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case enum:
		return v.n != 0
	case float64:
		return v != 0
	case []value:
		return len(v) > 1 || len(v) == 1 && truth(v[0])
	case *arrayList:
		return truth(v.items)
	}
	return true
}

// fatal is an error that ends the script, as one that it throws.
func fatal(format string, args ...any) error {
	return &leaving{word: "throw", what: fmt.Sprintf(format, args...)}
}

// thrown is an error of PowerShell's, which ends a statement, or, if something is not implemented, the script.
func thrown(format string, args ...any) error {
	return &leaving{word: "throw", what: fmt.Sprintf(format, args...), own: true}
}

// parseInteger reads an integer of PowerShell: decimal, or hexadecimal after 0x. Leading zeros have no meaning. A
// hexadecimal number with the highest of 32 or 64 bits set is negative.
func parseInteger(s string) (int64, error) {
	digits := strings.TrimPrefix(s, "-")
	hex, ok := strings.CutPrefix(lower(digits), "0x")
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

// writtenNumber matches numbers without a type, perhaps with a unit.
var writtenNumber = lazyregexp.New(
	`(?i)^([+-]?(?:0x[0-9a-f]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))([kmgtp]b)?$`,
)

// parseNumber reads a number as written in a script. Integers of more than 64 bits are not numbers.
func parseNumber(s string) (value, bool) {
	m := writtenNumber.FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}
	unit := int64(1)
	if m[2] != "" {
		unit <<= 10 * (1 + strings.IndexByte("kmgtp", lower(m[2])[0]))
	}
	hex := strings.ContainsAny(m[1], "xX")
	if hex || !strings.ContainsAny(m[1], ".eE") {
		n, err := parseInteger(strings.TrimPrefix(m[1], "+"))
		product, ok := integers("*", n, unit)
		return product, ok && err == nil
	}
	n, err := strconv.ParseFloat(m[1], 64)
	return n * float64(unit), err == nil
}

func integer(v value) (int64, error) {
	switch v := plain(v).(type) {
	case nil:
		return 0, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case enum:
		return v.n, nil
	case int64:
		return v, nil
	case float64:
		r := math.RoundToEven(v)
		if math.IsNaN(r) || r < math.MinInt64 || r >= math.MaxInt64 {
			return 0, thrown("Cannot convert value %q to type \"System.Int64\".", text(v))
		}
		return int64(r), nil
	case string:
		n, err := parseInteger(strings.TrimSpace(v))
		if err != nil {
			return 0, thrown("Cannot convert value %q to type \"System.Int32\".", v)
		}
		return n, nil
	}
	return 0, thrown("Cannot convert %s to a number.", text(v))
}

func floating(v value) (float64, error) {
	switch v := plain(v).(type) {
	case float64:
		return v, nil
	case string:
		if n, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return n, nil
		}
	}
	n, err := integer(v)
	return float64(n), err
}

// arithmetic does + - * / %; integers that leave 64 bits become floating numbers.
func arithmetic(op string, a, b value) (value, error) {
	a, b = plain(a), plain(b)
	if v, done, err := ofObjects(op, a, b); done {
		return v, err
	}
	if op == "+" {
		if v, ok := joined(a, b); ok {
			return v, nil
		}
	}
	if x, ok := a.(string); ok && op == "*" {
		const longest = 1 << 24
		n, err := integer(b)
		if err != nil || n < 0 || n > longest/int64(max(len(x), 1)) {
			return nil, thrown("Cannot repeat a string %s times.", text(b))
		}
		return strings.Repeat(x, int(n)), nil
	}
	x, y := whole(a), whole(b)
	if x != nil && y != nil {
		if v, ok := integers(op, *x, *y); ok {
			return v, nil
		}
	}
	p, err := floating(a)
	if err != nil {
		return nil, err
	}
	q, err := floating(b)
	if err != nil {
		return nil, err
	}
	return floats(op, p, q)
}

// joined returns the result of + if a is a string, a list or $null, and false for other values.
func joined(a, b value) (value, bool) {
	switch x := a.(type) {
	case string:
		return x + text(b), true
	case []value:
		out := append([]value{}, x...)
		for item := range each(b) {
			out = append(out, item)
		}
		return out, true
	case nil:
		return b, true
	}
	return nil, false
}

// floats does arithmetic with floating numbers.
func floats(op string, p, q float64) (value, error) {
	switch op {
	case "+":
		return p + q, nil
	case "-":
		return p - q, nil
	case "*":
		return p * q, nil
	}
	if q == 0 {
		return nil, raise("System.DivideByZeroException", "Attempted to divide by zero.")
	}
	if op == "%" {
		return math.Mod(p, q), nil
	}
	return p / q, nil
}

// whole returns a value's integer, nil if it is none.
func whole(v value) *int64 {
	switch v.(type) {
	case float64:
		return nil
	}
	n, err := integer(v)
	if err != nil {
		return nil
	}
	return &n
}

// integers does arithmetic exactly, and returns false if the result is no integer of 64 bits.
func integers(op string, a, b int64) (value, bool) {
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
