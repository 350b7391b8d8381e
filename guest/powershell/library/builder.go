package library

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// leastCapacity is how many characters a StringBuilder has room for at first, and mostCapacity how many one may be
// asked to have room for.
const (
	leastCapacity = 16
	mostCapacity  = 1 << 24
)

// Builder is a StringBuilder.
type Builder struct {
	strings.Builder

	capacity int
}

// Capacity returns how many characters it has room for. As with .NET, it doubles when it is full.
func (b *Builder) Capacity() int {
	b.capacity = max(b.capacity, leastCapacity)
	for b.capacity < b.Len() {
		b.capacity *= 2
	}
	return b.capacity
}

// BuilderClass returns the class System.Text.StringBuilder.
func BuilderClass() *object.Class {
	add := func(name string, least int, what func(c *object.Call) (string, error)) object.Method {
		most := max(least, 1)
		return object.Method{Name: name, Least: least, Most: most, Do: func(c *object.Call) (object.Value, error) {
			s, err := what(c)
			object.Own[*Builder](c.On).WriteString(s)
			return c.On, err
		}}
	}

	format := add("AppendFormat", 2, func(c *object.Call) (string, error) {
		args := c.Args[1:]
		if list, ok := c.Arg(1).([]object.Value); ok && len(c.Args) == 2 {
			args = list
		}
		return object.Composite(c.Text(0), args)
	})
	format.Most = 32

	return &object.Class{
		Name: "System.Text.StringBuilder",
		Text: func(v any) string { return v.(*Builder).String() },
		Make: &object.Method{Most: 1, Do: func(c *object.Call) (object.Value, error) {
			b := &Builder{}
			switch v := c.Arg(0).(type) {
			case string:
				b.WriteString(v)
			case int64:
				if v < 0 || v > mostCapacity {
					return nil, object.Raise("System.ArgumentOutOfRangeException",
						"'capacity' must be greater than zero.\nParameter name: capacity")
				}
				b.capacity = int(v)
			}
			return &object.Instance{Of: BuilderClass(), V: b}, nil
		}},
		Props: []object.Field{
			{Name: "Length", Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return int64(len(object.Characters(object.Text(v)))), nil
			}},
			{Name: "Capacity", Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return int64(object.Own[*Builder](v).Capacity()), nil
			}},
		},
		Methods: []object.Method{
			add("Append", 1, func(c *object.Call) (string, error) { return c.Text(0), nil }),
			add("AppendLine", 0, func(c *object.Call) (string, error) { return c.Text(0) + c.State.Newline, nil }),
			format,
			{Name: "Clear", Do: func(c *object.Call) (object.Value, error) {
				object.Own[*Builder](c.On).Reset()
				return c.On, nil
			}},
		},
	}
}
