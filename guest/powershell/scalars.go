package powershell

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// constant is a static property with one value.
func constant(name string, v value) field {
	return field{name: name, get: func(*frame, value) (value, error) { return v, nil }}
}

// parse is the static method Parse of numbers.
func parse(do func(s string) (value, error)) []routine {
	return []routine{{name: "Parse", least: 1, most: 1, do: func(c *dotCall) (value, error) {
		v, err := do(strings.TrimSpace(c.text(0)))
		if err != nil {
			return nil, badFormat()
		}
		return v, nil
	}}}
}

// numberMethods are those of numbers: ToString with a format.
func numberMethods() []routine {
	return []routine{
		{name: "ToString", most: 1, do: func(c *dotCall) (value, error) { return formattedAs(c.on, c.text(0)) }},
		{name: "CompareTo", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			a, _ := floating(c.on)
			b, err := floating(c.arg(0))
			return int64(cmp.Compare(a, b)), err
		}},
	}
}

func integerClass() *class {
	return &class{
		name:   "System.Int32",
		others: []string{"int", "int32"},
		fields: []field{constant("MaxValue", int64(math.MaxInt32)), constant("MinValue", int64(math.MinInt32))},
		calls:  parse(func(s string) (value, error) { return strconv.ParseInt(s, 10, 32) }),
	}
}

func longClass() *class {
	return &class{
		name:    "System.Int64",
		others:  []string{"long", "int64"},
		fields:  []field{constant("MaxValue", int64(math.MaxInt64)), constant("MinValue", int64(math.MinInt64))},
		calls:   parse(func(s string) (value, error) { return strconv.ParseInt(s, 10, 64) }),
		methods: numberMethods(),
	}
}

func doubleClass() *class {
	return &class{
		name:   "System.Double",
		others: []string{"double"},
		fields: []field{
			constant("MaxValue", math.MaxFloat64), constant("MinValue", -math.MaxFloat64), constant("NaN", math.NaN()),
		},
		calls:   parse(func(s string) (value, error) { return strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64) }),
		methods: numberMethods(),
	}
}

func booleanClass() *class {
	return &class{
		name:   "System.Boolean",
		others: []string{"bool"},
		fields: []field{constant("TrueString", "True"), constant("FalseString", "False")},
		calls: parse(func(s string) (value, error) {
			if !strings.EqualFold(s, "true") && !strings.EqualFold(s, "false") {
				return nil, badFormat()
			}
			return strings.EqualFold(s, "true"), nil
		}),
	}
}

// mathClass is System.Math (https://learn.microsoft.com/en-us/dotnet/api/system.math).
func mathClass() *class {
	of := func(name string, do func(float64) float64) routine {
		return routine{name: name, least: 1, most: 1, do: func(c *dotCall) (value, error) {
			n, err := floating(c.arg(0))
			return do(n), err
		}}
	}
	two := func(name string, do func(a, b float64) float64) routine {
		return routine{name: name, least: 2, most: 2, do: func(c *dotCall) (value, error) {
			a, err := floating(c.arg(0))
			if err != nil {
				return nil, err
			}
			b, err := floating(c.arg(1))
			if err != nil {
				return nil, err
			}
			n := do(a, b)
			if x, y := whole(plain(c.arg(0))), whole(plain(c.arg(1))); x != nil && y != nil && (n == a || n == b) {
				if n == a {
					return *x, nil
				}
				return *y, nil
			}
			return n, nil
		}}
	}
	pow := two("Pow", math.Pow)
	pow.do = func(c *dotCall) (value, error) {
		a, err := floating(c.arg(0))
		if err != nil {
			return nil, err
		}
		b, err := floating(c.arg(1))
		return math.Pow(a, b), err
	}
	return &class{
		name:   "System.Math",
		fields: []field{constant("PI", math.Pi), constant("E", math.E)},
		calls: []routine{
			of("Floor", math.Floor), of("Ceiling", math.Ceil), of("Truncate", math.Trunc), of("Sqrt", math.Sqrt),
			of("Log10", math.Log10), of("Exp", math.Exp), of("Sin", math.Sin), of("Cos", math.Cos), of("Tan", math.Tan),
			of("Log", math.Log), of("Atan", math.Atan),
			two("Max", math.Max), two("Min", math.Min), pow,
			{name: "Abs", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				if n, ok := c.arg(0).(int64); ok && n != math.MinInt64 {
					return max(n, -n), nil
				}
				n, err := floating(c.arg(0))
				return math.Abs(n), err
			}},
			{name: "Sign", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				n, err := floating(c.arg(0))
				return int64(cmp.Compare(n, 0)), err
			}},
			{name: "Round", least: 1, most: 2, do: roundMethod},
		},
	}
}

// roundMethod is Math.Round: half to even, to so many digits.
func roundMethod(c *dotCall) (value, error) {
	n, err := floating(c.arg(0))
	if err != nil {
		return nil, err
	}
	places, err := c.whole(1)
	if err != nil || places < 0 || places > 15 {
		return nil, raise("System.ArgumentOutOfRangeException",
			"Rounding digits must be between 0 and 15, inclusive.\nParameter name: digits")
	}
	power := math.Pow(10, float64(places))
	if rounded := math.RoundToEven(n*power) / power; !math.IsInf(rounded, 0) && !math.IsNaN(rounded) {
		return rounded, nil
	}
	return n, nil
}

// convertClass is System.Convert.
func convertClass() *class {
	to := func(name, to string) routine {
		return routine{name: name, least: 1, most: 1, do: func(c *dotCall) (value, error) {
			v, err := converted(to, c.arg(0))
			if err != nil {
				return nil, badFormat()
			}
			return v, nil
		}}
	}
	return &class{name: "System.Convert", calls: []routine{
		{name: "ToBase64String", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			data, err := bytesOf(c.arg(0))
			return base64.StdEncoding.EncodeToString(data), err
		}},
		{name: "FromBase64String", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(c.text(0)), ""))
			if err != nil {
				return nil, raise("System.FormatException", "The input is not a valid Base-64 string as it contains a "+
					"non-base 64 character, more than two padding characters, or an illegal character among the "+
					"padding characters. ")
			}
			return byteList(data), nil
		}},
		to("ToInt64", "long"), to("ToDouble", "double"), to("ToBoolean", "bool"),
		{name: "ToInt32", least: 1, most: 2, do: toInteger},
		{name: "ToString", least: 1, most: 2, do: toText},
	}}
}

// base is the argument for a base of digits.
func (c *dotCall) base() (int, error) {
	base, err := c.whole(1)
	if err != nil || base != 2 && base != 8 && base != 10 && base != 16 {
		return 0, raise(argumentException, "Invalid Base.")
	}
	return int(base), nil
}

// toInteger is Convert.ToInt32.
func toInteger(c *dotCall) (value, error) {
	if len(c.args) == 1 {
		v, err := converted("int", c.arg(0))
		if err != nil {
			return nil, badFormat()
		}
		return v, nil
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	digits := c.text(0)
	if base == 16 {
		digits = strings.TrimPrefix(lower(digits), "0x")
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return nil, raise("System.FormatException", "Could not find any recognizable digits.")
	}
	return int64(int32(uint32(n))), nil // so it is meant
}

// toText is Convert.ToString.
func toText(c *dotCall) (value, error) {
	if len(c.args) == 1 {
		return c.text(0), nil
	}
	n, err := c.whole(0)
	if err != nil {
		return nil, err
	}
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	if n < 0 && base != 10 {
		return strconv.FormatUint(uint64(uint32(n)), base), nil // as 32 bits
	}
	return strconv.FormatInt(n, base), nil
}

const guidName = "System.Guid"

// guidClass is System.Guid; its objects hold their text.
func guidClass() *class {
	c := &class{
		name:   guidName,
		others: []string{"guid"},
		text:   func(v any) string { return v.(string) },
		same:   func(v any) string { return v.(string) },
		methods: []routine{{name: "ToString", most: 1, do: func(c *dotCall) (value, error) {
			i, ok := c.on.(*instance)
			if !ok || c.text(0) == "" {
				return text(c.on), nil
			}
			return guidFormat(i, c.text(0))
		}}},
	}
	c.fields = []field{{name: "Empty", get: func(*frame, value) (value, error) {
		return &instance{guidClass(), "00000000-0000-0000-0000-000000000000"}, nil
	}}}
	c.calls = []routine{
		{name: "NewGuid", do: func(*dotCall) (value, error) {
			var b [16]byte
			if _, err := rand.Read(b[:]); err != nil {
				return nil, err
			}
			b[6], b[8] = b[6]&0xf|0x40, b[8]&0x3f|0x80
			s := hex.EncodeToString(b[:])
			return &instance{guidClass(), strings.Join([]string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]}, "-")}, nil
		}},
		{name: "Parse", least: 1, most: 1, do: func(c *dotCall) (value, error) { return parseGUID(c.text(0)) }},
	}
	c.make = &routine{least: 1, most: 1, do: c.calls[1].do}
	return c
}

// parseGUID reads a GUID, perhaps in brackets.
func parseGUID(s string) (value, error) {
	s = strings.Trim(strings.TrimSpace(lower(s)), "{}()")
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(s) {
		return nil, raise("System.FormatException", "Unrecognized Guid format.")
	}
	return &instance{guidClass(), s}, nil
}

// guidFormat is a GUID with or without its dashes and brackets.
func guidFormat(i *instance, format string) (string, error) {
	s := text(i)
	switch lower(format) {
	case "", "d":
		return s, nil
	case "n":
		return strings.ReplaceAll(s, "-", ""), nil
	case "b":
		return "{" + s + "}", nil
	case "p":
		return "(" + s + ")", nil
	}
	return "", raise("System.FormatException", "Format String can be only \"D\", \"d\", \"N\", \"n\", \"P\", \"p\", "+
		"\"B\", \"b\", \"X\" or \"x\".")
}

// randomClass is System.Random.
func randomClass() *class {
	return &class{
		name: "System.Random",
		make: &routine{do: func(*dotCall) (value, error) { return &instance{randomClass(), nil}, nil }},
		methods: []routine{{name: "Next", most: 2, do: func(c *dotCall) (value, error) {
			from, to := int64(0), int64(math.MaxInt32)
			var err error
			switch len(c.args) {
			case 1:
				to, err = c.whole(0)
			case 2:
				if from, err = c.whole(0); err == nil {
					to, err = c.whole(1)
				}
			}
			if err != nil || to < from {
				return nil, raise("System.ArgumentOutOfRangeException",
					"'minValue' cannot be greater than maxValue.\nParameter name: minValue")
			}
			return between(from, to)
		}}},
	}
}

// between is a number by chance, from from to one below to.
func between(from, to int64) (value, error) {
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

func stopwatchClass() *class {
	made := func(w *watch) value { return &instance{stopwatchClass(), w} }
	do := func(name string, do func(w *watch)) routine {
		return routine{name: name, do: func(c *dotCall) (value, error) {
			do(own[*watch](c.on))
			return nil, nil
		}}
	}
	start := func(w *watch) {
		if w.since.IsZero() {
			w.since = time.Now()
		}
	}
	of := func(name string, get func(w *watch) value) field {
		return field{name: name, get: func(_ *frame, v value) (value, error) { return get(own[*watch](v)), nil }}
	}
	return &class{
		name:  "System.Diagnostics.Stopwatch",
		make:  &routine{do: func(*dotCall) (value, error) { return made(&watch{}), nil }},
		calls: []routine{{name: "StartNew", do: func(*dotCall) (value, error) { return made(&watch{since: time.Now()}), nil }}},
		props: []field{
			of("Elapsed", func(w *watch) value { return &instance{spanClass(), w.total()} }),
			of("ElapsedMilliseconds", func(w *watch) value { return w.total().Milliseconds() }),
			of("IsRunning", func(w *watch) value { return !w.since.IsZero() }),
		},
		methods: []routine{
			do("Start", start),
			do("Stop", func(w *watch) { w.elapsed, w.since = w.total(), time.Time{} }),
			do("Reset", func(w *watch) { w.elapsed, w.since = 0, time.Time{} }),
			do("Restart", func(w *watch) { w.elapsed, w.since = 0, time.Now() }),
		},
	}
}
