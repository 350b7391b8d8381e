package library

import (
	"cmp"
	"math"

	"mullion.dev/mullion/guest/powershell/object"
)

// MathClass returns the class System.Math (https://learn.microsoft.com/en-us/dotnet/api/system.math).
func MathClass() *object.Class {
	of := func(name string, do func(float64) float64) object.Method {
		return object.Method{
			Name:  name,
			Least: 1,
			Most:  1,
			Do: func(c *object.Call) (object.Value, error) {
				n, err := object.Floating(c.Arg(0))
				return do(n), err
			},
		}
	}

	two := func(name string, do func(a, b float64) float64) object.Method {
		return object.Method{
			Name:  name,
			Least: 2,
			Most:  2,
			Do: func(c *object.Call) (object.Value, error) {
				a, err := object.Floating(c.Arg(0))
				if err != nil {
					return nil, err
				}
				b, err := object.Floating(c.Arg(1))
				if err != nil {
					return nil, err
				}

				n := do(a, b)
				x, y := object.Whole(object.Plain(c.Arg(0))), object.Whole(object.Plain(c.Arg(1)))
				switch {
				case x == nil || y == nil: // of floating numbers the result is one
				case n == a:
					return *x, nil
				case n == b:
					return *y, nil
				}

				return n, nil
			},
		}
	}

	pow := two("Pow", math.Pow)
	pow.Do = func(c *object.Call) (object.Value, error) {
		a, err := object.Floating(c.Arg(0))
		if err != nil {
			return nil, err
		}
		b, err := object.Floating(c.Arg(1))
		return math.Pow(a, b), err
	}

	return &object.Class{
		Name:   "System.Math",
		Fields: []object.Field{object.Constant("PI", math.Pi), object.Constant("E", math.E)},
		Calls: []object.Method{
			of("Floor", math.Floor), of("Ceiling", math.Ceil), of("Truncate", math.Trunc), of("Sqrt", math.Sqrt),
			of("Log10", math.Log10), of("Exp", math.Exp), of("Sin", math.Sin), of("Cos", math.Cos), of("Tan", math.Tan),
			of("Log", math.Log), of("Atan", math.Atan),
			two("Max", math.Max), two("Min", math.Min), pow,
			{
				Name:  "Abs",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					if n, ok := c.Arg(0).(int64); ok && n != math.MinInt64 {
						return max(n, -n), nil
					}
					n, err := object.Floating(c.Arg(0))
					return math.Abs(n), err
				},
			},
			{
				Name:  "Sign",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					n, err := object.Floating(c.Arg(0))
					return int64(cmp.Compare(n, 0)), err
				},
			},
			{Name: "Round", Least: 1, Most: 2, Do: roundMethod},
		},
	}
}

// roundMethod carries out Math.Round: half to even, to so many digits.
func roundMethod(c *object.Call) (object.Value, error) {
	n, err := object.Floating(c.Arg(0))
	if err != nil {
		return nil, err
	}

	places, err := c.Whole(1)
	if err != nil || places < 0 || places > 15 {
		return nil, object.Raise("System.ArgumentOutOfRangeException",
			"Rounding digits must be between 0 and 15, inclusive.\nParameter name: digits")
	}

	power := math.Pow(10, float64(places))
	if rounded := math.RoundToEven(n*power) / power; !math.IsInf(rounded, 0) && !math.IsNaN(rounded) {
		return rounded, nil
	}

	return n, nil
}
