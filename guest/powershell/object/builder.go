package object

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/session"
)

// BuilderClass is System.Text.StringBuilder.
func BuilderClass() *Class {
	add := func(name string, least int, what func(c *Call) (string, error)) Method {
		return Method{Name: name, Least: least, Most: max(least, 1), Do: func(c *Call) (Value, error) {
			s, err := what(c)
			Own[*strings.Builder](c.On).WriteString(s)
			return c.On, err
		}}
	}
	format := add("AppendFormat", 2, func(c *Call) (string, error) {
		args := c.Args[1:]
		if list, ok := c.Arg(1).([]Value); ok && len(c.Args) == 2 {
			args = list
		}
		return Composite(c.Text(0), args)
	})
	format.Most = 32
	return &Class{
		Name: "System.Text.StringBuilder",
		Text: func(v any) string { return v.(*strings.Builder).String() },
		Make: &Method{Most: 1, Do: func(c *Call) (Value, error) {
			b := &strings.Builder{}
			if s, ok := c.Arg(0).(string); ok {
				b.WriteString(s)
			}
			return &Instance{BuilderClass(), b}, nil
		}},
		Props: []Field{{Name: "Length", Get: func(_ *session.State, v Value) (Value, error) {
			return int64(len(Characters(Text(v)))), nil
		}}},
		Methods: []Method{
			add("Append", 1, func(c *Call) (string, error) { return c.Text(0), nil }),
			add("AppendLine", 0, func(c *Call) (string, error) { return c.Text(0) + c.State.Newline, nil }),
			format,
			{Name: "Clear", Do: func(c *Call) (Value, error) {
				Own[*strings.Builder](c.On).Reset()
				return c.On, nil
			}},
		},
	}
}
