package object

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"math"
	"regexp"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/powershell/session"
)

// Constant returns a static property with one value.
func Constant(name string, v Value) Field {
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

// IntegerClass returns the class System.Int32.
func IntegerClass() *Class {
	return &Class{
		Name:   "System.Int32",
		Others: []string{"int", "int32"},
		Fields: []Field{Constant("MaxValue", int64(math.MaxInt32)), Constant("MinValue", int64(math.MinInt32))},
		Calls:  parse(int64(0), func(s string) (Value, error) { return strconv.ParseInt(s, 10, 32) }),
	}
}

// LongClass returns the class System.Int64.
func LongClass() *Class {
	return &Class{
		Name:    "System.Int64",
		Others:  []string{"long", "int64"},
		Fields:  []Field{Constant("MaxValue", int64(math.MaxInt64)), Constant("MinValue", int64(math.MinInt64))},
		Calls:   parse(int64(0), func(s string) (Value, error) { return strconv.ParseInt(s, 10, 64) }),
		Methods: numberMethods(),
	}
}

// DoubleClass returns the class System.Double.
func DoubleClass() *Class {
	return &Class{
		Name:   "System.Double",
		Others: []string{"double"},
		Fields: []Field{
			Constant("MaxValue", math.MaxFloat64), Constant("MinValue", -math.MaxFloat64), Constant("NaN", math.NaN()),
			Constant("PositiveInfinity", math.Inf(1)), Constant("NegativeInfinity", math.Inf(-1)),
			Constant("Epsilon", math.SmallestNonzeroFloat64),
		},
		Calls: parse(0.0, func(s string) (Value, error) {
			return strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
		}),
		Methods: numberMethods(),
	}
}

// BooleanClass returns the class System.Boolean.
func BooleanClass() *Class {
	return &Class{
		Name:   "System.Boolean",
		Others: []string{"bool"},
		Fields: []Field{Constant("TrueString", "True"), Constant("FalseString", "False")},
		Calls: parse(false, func(s string) (Value, error) {
			if !strings.EqualFold(s, "true") && !strings.EqualFold(s, "false") {
				return nil, BadFormat()
			}
			return strings.EqualFold(s, "true"), nil
		}),
		// Those of SwitchParameter: a switch is a Boolean here
		// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.switchparameter).
		Props: []Field{{
			Name: "IsPresent",
			Get:  func(_ *session.State, of Value) (Value, error) { return of, nil },
		}},
		Methods: []Method{{Name: "ToBool", Do: func(c *Call) (Value, error) { return c.On, nil }}},
		Text:    func(v any) string { return Text(v) },
	}
}

// Base returns the argument for a base of digits.
func (c *Call) Base() (int, error) {
	base, err := c.Whole(1)
	if err != nil || (base != 2 && base != 8 && base != 10 && base != 16) {
		return 0, Raise(ArgumentException, "Invalid Base.")
	}
	return int(base), nil
}

// ToText carries out Convert.ToString.
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

// GUIDClass returns the class System.Guid; its objects hold their text.
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

	c.Make = &Method{
		Least: 1,
		Most:  1,
		Do:    c.Calls[1].Do,
	}

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
