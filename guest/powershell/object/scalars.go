package object

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/session"
)

// constant returns a static property with one value.
func constant(name string, v Value) Field {
	return Field{Name: name, Get: func(*session.State, Value) (Value, error) { return v, nil }}
}

// parse returns the static methods Parse and TryParse of numbers.
func parse(none Value, do func(s string) (Value, error)) []Method {
	return []Method{{
		Name:  "Parse",
		Least: 1,
		Most:  1,
		Do: func(c *Call) (Value, error) {
			v, err := do(strings.TrimSpace(c.Text(0)))
			if err != nil {
				return nil, BadFormat()
			}
			return v, nil
		},
	}, TryParse(func() Value { return none }, func(s string) (Value, error) { return do(strings.TrimSpace(s)) })}
}

// numberMethods returns the methods of numbers: ToString with a format.
func numberMethods() []Method {
	return []Method{
		{Name: "ToString", Most: 1, Do: func(c *Call) (Value, error) { return formattedAs(c.On, c.Text(0)) }},
		{
			Name:  "CompareTo",
			Least: 1,
			Most:  1,
			Do: func(c *Call) (Value, error) {
				a, _ := Floating(c.On)
				b, err := Floating(c.Arg(0))
				return int64(cmp.Compare(a, b)), err
			},
		},
	}
}

// IntegerClass is System.Int32.
func IntegerClass() *Class {
	return &Class{
		Name:   "System.Int32",
		Others: []string{"int", "int32"},
		Fields: []Field{constant("MaxValue", int64(math.MaxInt32)), constant("MinValue", int64(math.MinInt32))},
		Calls:  parse(int64(0), func(s string) (Value, error) { return strconv.ParseInt(s, 10, 32) }),
	}
}

// LongClass is System.Int64.
func LongClass() *Class {
	return &Class{
		Name:    "System.Int64",
		Others:  []string{"long", "int64"},
		Fields:  []Field{constant("MaxValue", int64(math.MaxInt64)), constant("MinValue", int64(math.MinInt64))},
		Calls:   parse(int64(0), func(s string) (Value, error) { return strconv.ParseInt(s, 10, 64) }),
		Methods: numberMethods(),
	}
}

// DoubleClass is System.Double.
func DoubleClass() *Class {
	return &Class{
		Name:   "System.Double",
		Others: []string{"double"},
		Fields: []Field{
			constant("MaxValue", math.MaxFloat64), constant("MinValue", -math.MaxFloat64), constant("NaN", math.NaN()),
		},
		Calls: parse(0.0, func(s string) (Value, error) {
			return strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
		}),
		Methods: numberMethods(),
	}
}

// BooleanClass is System.Boolean.
func BooleanClass() *Class {
	return &Class{
		Name:   "System.Boolean",
		Others: []string{"bool"},
		Fields: []Field{constant("TrueString", "True"), constant("FalseString", "False")},
		Calls: parse(false, func(s string) (Value, error) {
			if !strings.EqualFold(s, "true") && !strings.EqualFold(s, "false") {
				return nil, BadFormat()
			}
			return strings.EqualFold(s, "true"), nil
		}),
	}
}

// MathClass is System.Math (https://learn.microsoft.com/en-us/dotnet/api/system.math).
func MathClass() *Class {
	of := func(name string, do func(float64) float64) Method {
		return Method{
			Name:  name,
			Least: 1,
			Most:  1,
			Do: func(c *Call) (Value, error) {
				n, err := Floating(c.Arg(0))
				return do(n), err
			},
		}
	}
	two := func(name string, do func(a, b float64) float64) Method {
		return Method{
			Name:  name,
			Least: 2,
			Most:  2,
			Do: func(c *Call) (Value, error) {
				a, err := Floating(c.Arg(0))
				if err != nil {
					return nil, err
				}
				b, err := Floating(c.Arg(1))
				if err != nil {
					return nil, err
				}
				n := do(a, b)
				if x, y := Whole(Plain(c.Arg(0))), Whole(Plain(c.Arg(1))); x != nil && y != nil && (n == a || n == b) {
					if n == a {
						return *x, nil
					}
					return *y, nil
				}
				return n, nil
			},
		}
	}
	pow := two("Pow", math.Pow)
	pow.Do = func(c *Call) (Value, error) {
		a, err := Floating(c.Arg(0))
		if err != nil {
			return nil, err
		}
		b, err := Floating(c.Arg(1))
		return math.Pow(a, b), err
	}
	return &Class{
		Name:   "System.Math",
		Fields: []Field{constant("PI", math.Pi), constant("E", math.E)},
		Calls: []Method{
			of("Floor", math.Floor), of("Ceiling", math.Ceil), of("Truncate", math.Trunc), of("Sqrt", math.Sqrt),
			of("Log10", math.Log10), of("Exp", math.Exp), of("Sin", math.Sin), of("Cos", math.Cos), of("Tan", math.Tan),
			of("Log", math.Log), of("Atan", math.Atan),
			two("Max", math.Max), two("Min", math.Min), pow,
			{
				Name:  "Abs",
				Least: 1,
				Most:  1,
				Do: func(c *Call) (Value, error) {
					if n, ok := c.Arg(0).(int64); ok && n != math.MinInt64 {
						return max(n, -n), nil
					}
					n, err := Floating(c.Arg(0))
					return math.Abs(n), err
				},
			},
			{
				Name:  "Sign",
				Least: 1,
				Most:  1,
				Do: func(c *Call) (Value, error) {
					n, err := Floating(c.Arg(0))
					return int64(cmp.Compare(n, 0)), err
				},
			},
			{Name: "Round", Least: 1, Most: 2, Do: roundMethod},
		},
	}
}

// roundMethod is Math.Round: half to even, to so many digits.
func roundMethod(c *Call) (Value, error) {
	n, err := Floating(c.Arg(0))
	if err != nil {
		return nil, err
	}
	places, err := c.Whole(1)
	if err != nil || places < 0 || places > 15 {
		return nil, Raise("System.ArgumentOutOfRangeException",
			"Rounding digits must be between 0 and 15, inclusive.\nParameter name: digits")
	}
	power := math.Pow(10, float64(places))
	if rounded := math.RoundToEven(n*power) / power; !math.IsInf(rounded, 0) && !math.IsNaN(rounded) {
		return rounded, nil
	}
	return n, nil
}

// Base returns the argument for a base of digits.
func (c *Call) Base() (int, error) {
	base, err := c.Whole(1)
	if err != nil || (base != 2 && base != 8 && base != 10 && base != 16) {
		return 0, Raise(ArgumentException, "Invalid Base.")
	}
	return int(base), nil
}

// ToText is Convert.ToString.
func ToText(c *Call) (Value, error) {
	if len(c.Args) == 1 {
		return c.Text(0), nil
	}
	n, err := c.Whole(0)
	if err != nil {
		return nil, err
	}
	base, err := c.Base()
	if err != nil {
		return nil, err
	}
	if n < 0 && base != 10 {
		return strconv.FormatUint(uint64(uint32(n)), base), nil // as 32 bits
	}
	return strconv.FormatInt(n, base), nil
}

// GUIDName is the class Guid.
const GUIDName = "System.Guid"

// GUIDClass is System.Guid; its objects hold their text.
func GUIDClass() *Class {
	c := &Class{
		Name:   GUIDName,
		Others: []string{"guid"},
		Text:   func(v any) string { return v.(string) },
		Same:   func(v any) string { return v.(string) },
		Methods: []Method{{
			Name: "ToString",
			Most: 1,
			Do: func(c *Call) (Value, error) {
				i, ok := c.On.(*Instance)
				if !ok || c.Text(0) == "" {
					return Text(c.On), nil
				}
				return guidFormat(i, c.Text(0))
			},
		}},
	}
	c.Fields = []Field{{
		Name: "Empty",
		Get: func(*session.State, Value) (Value, error) {
			return emptyGUID(), nil
		},
	}}
	c.Calls = []Method{
		{
			Name: "NewGuid",
			Do: func(*Call) (Value, error) {
				var b [16]byte
				if _, err := rand.Read(b[:]); err != nil {
					return nil, err
				}
				b[6], b[8] = b[6]&0xf|0x40, b[8]&0x3f|0x80
				s := hex.EncodeToString(b[:])
				return &Instance{GUIDClass(), strings.Join([]string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]},
					"-")}, nil
			},
		},
		{Name: "Parse", Least: 1, Most: 1, Do: func(c *Call) (Value, error) { return ParseGUID(c.Text(0)) }},
		TryParse(emptyGUID, ParseGUID),
	}
	c.Make = &Method{Least: 1, Most: 1, Do: c.Calls[1].Do}
	return c
}

func emptyGUID() Value { return &Instance{GUIDClass(), "00000000-0000-0000-0000-000000000000"} }

// ParseGUID reads a GUID, perhaps in brackets.
func ParseGUID(s string) (Value, error) {
	s = strings.Trim(strings.TrimSpace(strings.ToLower(s)), "{}()")
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(s) {
		return nil, Raise("System.FormatException", "Unrecognized Guid format.")
	}
	return &Instance{GUIDClass(), s}, nil
}

// guidFormat returns a GUID with or without its dashes and brackets.
func guidFormat(i *Instance, format string) (string, error) {
	s := Text(i)
	switch strings.ToLower(format) {
	case "", "d":
		return s, nil
	case "n":
		return strings.ReplaceAll(s, "-", ""), nil
	case "b":
		return "{" + s + "}", nil
	case "p":
		return "(" + s + ")", nil
	}
	return "", Raise("System.FormatException", "Format String can be only \"D\", \"d\", \"N\", \"n\", \"P\", \"p\", "+
		"\"B\", \"b\", \"X\" or \"x\".")
}

// RandomClass is System.Random.
func RandomClass() *Class {
	return &Class{
		Name: "System.Random",
		Make: &Method{Do: func(*Call) (Value, error) { return &Instance{RandomClass(), nil}, nil }},
		Methods: []Method{{
			Name: "Next",
			Most: 2,
			Do: func(c *Call) (Value, error) {
				from, to := int64(0), int64(math.MaxInt32)
				var err error
				switch len(c.Args) {
				case 1:
					to, err = c.Whole(0)
				case 2:
					if from, err = c.Whole(0); err == nil {
						to, err = c.Whole(1)
					}
				}
				if err != nil || to < from {
					return nil, Raise("System.ArgumentOutOfRangeException",
						"'minValue' cannot be greater than maxValue.\nParameter name: minValue")
				}
				return Between(from, to)
			},
		}},
	}
}

// Between returns a number by chance, from from to one below to.
func Between(from, to int64) (Value, error) {
	if to == from {
		return from, nil
	}
	n, err := rand.Int(rand.Reader, new(big.Int).Sub(big.NewInt(to), big.NewInt(from)))
	if err != nil {
		return nil, err
	}
	return from + n.Int64(), nil
}

// watch is a System.Diagnostics.Stopwatch.
type watch struct {
	since   time.Time // zero if it stands
	elapsed time.Duration
}

func (w *watch) total() time.Duration {
	if w.since.IsZero() {
		return w.elapsed
	}
	return w.elapsed + time.Since(w.since)
}

// StopwatchClass is System.Diagnostics.Stopwatch.
func StopwatchClass() *Class {
	made := func(w *watch) Value { return &Instance{StopwatchClass(), w} }
	do := func(name string, do func(w *watch)) Method {
		return Method{
			Name: name,
			Do: func(c *Call) (Value, error) {
				do(Own[*watch](c.On))
				return nil, nil
			},
		}
	}
	start := func(w *watch) {
		if w.since.IsZero() {
			w.since = time.Now()
		}
	}
	of := func(name string, get func(w *watch) Value) Field {
		return Field{
			Name: name,
			Get: func(_ *session.State, v Value) (Value, error) {
				return get(Own[*watch](v)), nil
			},
		}
	}
	return &Class{
		Name: "System.Diagnostics.Stopwatch",
		Make: &Method{Do: func(*Call) (Value, error) { return made(&watch{}), nil }},
		Calls: []Method{{
			Name: "StartNew",
			Do: func(*Call) (Value, error) {
				return made(&watch{since: time.Now()}), nil
			},
		}},
		Props: []Field{
			of("Elapsed", func(w *watch) Value { return &Instance{SpanClass(), w.total()} }),
			of("ElapsedMilliseconds", func(w *watch) Value { return w.total().Milliseconds() }),
			of("IsRunning", func(w *watch) Value { return !w.since.IsZero() }),
		},
		Methods: []Method{
			do("Start", start),
			do("Stop", func(w *watch) { w.elapsed, w.since = w.total(), time.Time{} }),
			do("Reset", func(w *watch) { w.elapsed, w.since = 0, time.Time{} }),
			do("Restart", func(w *watch) { w.elapsed, w.since = 0, time.Now() }),
		},
	}
}
