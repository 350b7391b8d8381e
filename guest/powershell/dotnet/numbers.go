package dotnet

import (
	"math"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// numberKind is a type of numbers that has no values of its own here: its values are integers of 64 bits or floating
// numbers, within its bounds.
type numberKind struct {
	name        string
	others      []string
	least, most int64
	floating    bool
}

func numberKinds() []numberKind {
	return []numberKind{
		{"System.Byte", []string{"byte"}, 0, math.MaxUint8, false},
		{"System.SByte", []string{"sbyte"}, math.MinInt8, math.MaxInt8, false},
		{"System.Int16", []string{"int16", "short"}, math.MinInt16, math.MaxInt16, false},
		{"System.UInt16", []string{"uint16", "ushort"}, 0, math.MaxUint16, false},
		{"System.UInt32", []string{"uint32", "uint"}, 0, math.MaxUint32, false},
		{"System.UInt64", []string{"uint64", "ulong"}, 0, math.MaxInt64, false},
		{"System.Numerics.BigInteger", []string{"bigint"}, math.MinInt64, math.MaxInt64, false},
		{"System.Decimal", []string{"decimal"}, 0, 0, true},
		{"System.Single", []string{"single", "float"}, 0, 0, true},
	}
}

// numberClasses returns the classes of the types of numbers without values of their own.
func numberClasses() []*object.Class {
	var all []*object.Class
	for _, k := range numberKinds() {
		least, most := object.Value(k.least), object.Value(k.most)
		if k.floating {
			least, most = -79228162514264337593543950335.0, 79228162514264337593543950335.0
			if k.name == "System.Single" {
				least, most = -float64(math.MaxFloat32), float64(math.MaxFloat32)
			}
		}

		if k.name == "System.UInt64" {
			most = float64(math.MaxUint64)
		}

		c := &object.Class{Name: k.name, Others: k.others, Fields: []object.Field{
			valueField("MaxValue", most), valueField("MinValue", least), valueField("Zero", int64(0)), valueField("One", int64(1)),
		}}

		c.Calls = []object.Method{{Name: "Parse", Least: 1, Most: 2, Do: func(c *object.Call) (object.Value, error) {
			v, err := k.parse(c.Text(0), c.Arg(1))
			if err != nil {
				return nil, object.BadFormat()
			}
			return v, nil
		}}}

		if k.floating {
			for _, name := range []string{"Round", "Floor", "Ceiling", "Truncate"} {
				c.Calls = append(c.Calls, *object.Find(library.MathClass().Calls, name))
			}
		}

		c.Calls = append(c.Calls, object.TryParse(func() object.Value { return int64(0) },
			func(s string) (object.Value, error) { return k.parse(s, nil) }))
		all = append(all, c)
	}

	return all
}

func valueField(name string, v object.Value) object.Field {
	return object.Field{Name: name, Get: func(*session.State, object.Value) (object.Value, error) { return v, nil }}
}

// parse reads a number of the kind; style is a NumberStyles, of which HexNumber is known.
func (k numberKind) parse(s string, style object.Value) (object.Value, error) {
	s = strings.TrimSpace(s)
	if k.floating {
		return strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	}

	base := 10
	if strings.EqualFold(object.Text(style), "hexnumber") {
		base = 16
	}

	n, err := strconv.ParseInt(s, base, 64)
	if err != nil || n < k.least || n > k.most {
		return nil, object.BadFormat()
	}

	return n, nil
}

// cast returns a value as a number of the kind.
func (k numberKind) cast(v object.Value) (object.Value, error) {
	if k.floating {
		if s, ok := v.(string); ok {
			v = strings.ReplaceAll(s, ",", "")
		}
		n, err := object.Floating(v)
		return n, err
	}

	n, err := object.Integer(v)
	if err == nil && (n < k.least || n > k.most) {
		err = object.Unconverted(v, k.name, object.OutOfRange(k.name))
	}

	return n, err
}
