package native

import (
	"strconv"
	"strings"
)

// numberOf reads a number as C# writes it.
func numberOf(text string) (int64, bool) {
	text = strings.ReplaceAll(strings.ToLower(text), "_", "")
	hex := strings.HasPrefix(text, "0x")
	text = strings.TrimRight(text, "ul")
	base := 10 // C# has no octal numbers
	if hex {
		text, base = text[len("0x"):], 16
	}

	n, err := strconv.ParseUint(text, base, 64)
	return int64(n), err == nil
}

// constant reads the value of a constant.
func (r *reader) constant(d *declared, of kind, name string) error {
	if err := r.want("="); err != nil {
		return err
	}
	t := r.peek()
	var value any
	switch {
	case t.kind == textToken:
		value = r.next().text
	case r.is("true"):
		value = true
	case r.is("false"):
		value = false
	default:
		n, err := r.sum(d.constants)
		if err != nil {
			return err
		}
		value = fitting(of.name, n)
	}

	d.constants = append(d.constants, constant{name, value})
	return r.want(";")
}

// enumeration reads the names of one, and their numbers.
func (r *reader) enumeration(d *declared, attributes []attribute) error {
	d.enum = &enumeration{of: "int"}
	for _, a := range attributes {
		d.enum.flags = d.enum.flags || a.name == "Flags"
	}
	if r.is(":") {
		of, err := r.dotted()
		if err != nil {
			return err
		}
		d.enum.of = strings.TrimPrefix(of, "System.")
	}
	if err := r.want("{"); err != nil {
		return err
	}

	last := int64(-1)
	for !r.is("}") {
		if _, _, err := r.head(); err != nil {
			return err
		}
		name, err := r.name()
		if err != nil {
			return err
		}
		last++
		if r.is("=") {
			if last, err = r.sum(d.enum.values); err != nil {
				return err
			}
		}

		last = fitting(d.enum.of, last)
		d.enum.values = append(d.enum.values, constant{name, last})
		if !r.is(",") && r.peek().text != "}" {
			return r.fail("there is no \"}\" before \"" + r.peek().text + "\"")
		}
	}

	return nil
}

// fitting returns a number as one of a type.
func fitting(of string, n int64) int64 {
	switch p, _ := primitives()[of]; {
	case p.size == 1 && p.signed:
		return int64(int8(n))
	case p.size == 1:
		return int64(uint8(n))
	case p.size == 2 && p.signed:
		return int64(int16(n))
	case p.size == 2:
		return int64(uint16(n))
	case p.size == 4 && p.signed:
		return int64(int32(n))
	case p.size == 4:
		return int64(uint32(n))
	}
	return n
}

// sum reads a number made of others by |, &, ^, + and -, from the left to the right.
func (r *reader) sum(known []constant) (int64, error) {
	n, err := r.term(known)
	for err == nil && r.peek().kind == signToken && strings.Contains("|&^+-", r.peek().text) {
		sign := r.next().text
		more := int64(0)
		more, err = r.term(known)
		switch sign {
		case "|":
			n |= more
		case "&":
			n &= more
		case "^":
			n ^= more
		case "+":
			n += more
		case "-":
			n -= more
		}
	}

	return n, err
}

// term reads a number, and by how much it is shifted.
func (r *reader) term(known []constant) (int64, error) {
	n, err := r.single(known)
	for err == nil {
		by := int64(0)
		switch {
		case r.is("<<"):
			by, err = r.single(known)
			n <<= uint64(by) & 63
		case r.is(">>"):
			by, err = r.single(known)
			n >>= uint64(by) & 63
		default:
			return n, nil
		}
	}

	return n, err
}

// single reads a number with its sign, a name that is known, or a sum in brackets.
func (r *reader) single(known []constant) (n int64, err error) {
	err = r.within(func() error {
		switch {
		case r.is("-"):
			n, err = r.single(known)
			n = -n
		case r.is("~"):
			n, err = r.single(known)
			n = ^n
		case r.is("("):
			n, err = r.bracket(known)
		default:
			n, err = r.plain(known)
		}
		return err
	})
	return n, err
}

// bracket reads what follows a bracket: a sum, or a type that a number is cast to.
func (r *reader) bracket(known []constant) (int64, error) {
	to := r.peek().text
	if _, cast := primitives()[to]; cast {
		r.next()
		if err := r.want(")"); err != nil {
			return 0, err
		}
		n, err := r.single(known)
		return fitting(to, n), err
	}

	n, err := r.sum(known)
	if err != nil {
		return 0, err
	}
	return n, r.want(")")
}

// plain reads a number or a name.
func (r *reader) plain(known []constant) (int64, error) {
	t := r.next()
	if n, ok := numberOf(t.text); ok && t.kind == numberToken {
		return n, nil
	}
	for _, c := range known {
		if n, is := c.value.(int64); is && t.kind == wordToken && c.name == t.text {
			return n, nil
		}
	}
	return 0, &Error{t.line, "the value \"" + t.text + "\""}
}
