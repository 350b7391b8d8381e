package powershell

import "strings"

// builderClass is System.Text.StringBuilder.
func builderClass() *class {
	add := func(name string, least int, what func(c *dotCall) (string, error)) routine {
		return routine{name: name, least: least, most: max(least, 1), do: func(c *dotCall) (value, error) {
			s, err := what(c)
			own[*strings.Builder](c.on).WriteString(s)
			return c.on, err
		}}
	}
	format := add("AppendFormat", 2, func(c *dotCall) (string, error) {
		args := c.args[1:]
		if list, ok := c.arg(1).([]value); ok && len(c.args) == 2 {
			args = list
		}
		return composite(c.text(0), args)
	})
	format.most = 32
	return &class{
		name: "System.Text.StringBuilder",
		text: func(v any) string { return v.(*strings.Builder).String() },
		make: &routine{most: 1, do: func(c *dotCall) (value, error) {
			b := &strings.Builder{}
			if s, ok := c.arg(0).(string); ok {
				b.WriteString(s)
			}
			return &instance{builderClass(), b}, nil
		}},
		props: []field{{name: "Length", get: func(_ *frame, v value) (value, error) {
			return int64(len(characters(text(v)))), nil
		}}},
		methods: []routine{
			add("Append", 1, func(c *dotCall) (string, error) { return c.text(0), nil }),
			add("AppendLine", 0, func(c *dotCall) (string, error) { return c.text(0) + c.f.in.session.Newline, nil }),
			format,
			{name: "Clear", do: func(c *dotCall) (value, error) {
				own[*strings.Builder](c.on).Reset()
				return c.on, nil
			}},
		},
	}
}

// regexClass is Regex, of which only Escape is here.
func regexClass() *class {
	return &class{
		name:   "System.Text.RegularExpressions.Regex",
		others: []string{"regex"},
		calls: []routine{{name: "Escape", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			var b strings.Builder
			for _, r := range c.text(0) {
				if i := strings.IndexRune("\t\n\f\r", r); i >= 0 {
					b.WriteString(`\` + "tnfr"[i:i+1])
					continue
				}
				if strings.ContainsRune(`\*+?|{[()^$.# `, r) {
					b.WriteByte('\\')
				}
				b.WriteRune(r)
			}
			return b.String(), nil
		}}},
	}
}
