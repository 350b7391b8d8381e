package native

import (
	"runtime"

	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
)

// ready is a function that can be called.
type ready struct {
	function

	types  *Types
	result shape
	params []given
}

// given is a parameter with its shape.
type given struct {
	param

	shape shape
}

// ready looks at the types of a function.
func (t *Types) ready(d *declared, f function) (*ready, error) {
	r := &ready{function: f, types: t}
	var err error
	if r.result, err = t.shape(d, f.result, f.wide); err != nil {
		return nil, err
	}
	switch r.result.form {
	case nothing, number, truth:
	default:
		return nil, &Error{f.line, "the result of " + f.name + ", a " + f.result.name + ": an IntPtr can be read by " +
			"[Marshal]"}
	}

	for _, p := range f.params {
		s, err := t.shape(d, p.of, f.wide)
		if err != nil {
			return nil, err
		}
		byReference := p.out || p.ref
		never := s.form == nothing || s.form == inside
		if never || (byReference && (s.form == text || s.form == builder || s.form == list)) {
			return nil, &Error{f.line, "the parameter " + p.name + " of " + f.name}
		}
		r.params = append(r.params, given{p, s})
	}

	return r, nil
}

// call calls the function as a script does.
func (r *ready) call(c *object.Call) (object.Value, error) {
	if len(c.Args) != len(r.params) {
		return nil, object.NoMethod(r.name, r.name, len(c.Args))
	}

	var kept [][]byte
	var after []func() error
	args := make([]uintptr, len(r.params))
	for i, p := range r.params {
		arg, then, err := p.argument(i, c.Args[i], &kept)
		if err != nil {
			return nil, err
		}
		args[i] = arg
		if then != nil {
			after = append(after, then)
		}
	}

	do := r.types.Call
	if do == nil {
		do = call
		if err := share(c.State); err != nil {
			return nil, err
		}
	}
	result, last, err := do(r.library, r.entries, args)
	runtime.KeepAlive(kept)
	if err != nil {
		return nil, err
	}

	if r.keeps {
		r.types.last = last
	}
	for _, then := range after {
		if err := then(); err != nil {
			return nil, err
		}
	}
	if r.result.form == nothing {
		return nil, nil
	}

	b := make([]byte, pointer)
	shape{size: pointer}.putNumber(b, int64(result))
	return r.result.get(b)
}

// argument returns what a function gets for a value, and what is done when it has returned.
func (p given) argument(at int, v object.Value, kept *[][]byte) (arg uintptr, then func() error, err error) {
	if p.out || p.ref {
		return p.reference(at, v, kept)
	}
	v = object.Plain(v)
	switch p.shape.form {
	case builder:
		return p.builder(v, kept)
	case list:
		return p.list(v, kept)
	case record, guid:
		return p.value(v, kept)
	}

	b := make([]byte, pointer)
	if err := p.shape.put(b, v, kept); err != nil {
		return 0, nil, err
	}
	return uintptr(shape{size: pointer}.number(b)), nil, nil
}

// reference gives the function a room, and the script what the room has afterwards.
func (p given) reference(at int, v object.Value, kept *[][]byte) (uintptr, func() error, error) {
	to := object.Own[*object.Reference](v)
	if to == nil {
		return 0, nil, object.NotReferred(at + 1)
	}
	room := make([]byte, max(p.shape.size, pointer))
	if !p.out {
		if err := p.shape.put(room, to.Get(), kept); err != nil {
			return 0, nil, err
		}
	}

	*kept = append(*kept, room)
	return address(room), func() error {
		got, err := p.shape.get(room)
		if err != nil {
			return err
		}
		return to.Set(got)
	}, nil
}

// value gives a structure: in a register if it fits, by a pointer to a copy otherwise
// (https://learn.microsoft.com/cpp/build/x64-calling-convention#parameter-passing).
func (p given) value(v object.Value, kept *[][]byte) (uintptr, func() error, error) {
	room := make([]byte, max(p.shape.size, pointer))
	if err := p.shape.put(room, v, kept); err != nil {
		return 0, nil, err
	}
	switch p.shape.size {
	case 1, 2, 4, 8:
		return uintptr(shape{size: pointer}.number(room)), nil, nil
	}
	*kept = append(*kept, room)
	return address(room), nil, nil
}

// builder gives a room for a text, as large as the StringBuilder says.
func (p given) builder(v object.Value, kept *[][]byte) (uintptr, func() error, error) {
	if v == nil {
		return 0, nil, nil
	}
	b := object.Own[*library.Builder](v)
	if b == nil {
		return 0, nil, object.CannotConvert(v, "System.Text.StringBuilder")
	}

	unit := 1
	if p.shape.wide {
		unit = 2
	}
	room := make([]byte, unit*(min(b.Capacity(), mostText)+1))
	copy(room[:len(room)-unit], encoded(b.String(), p.shape.wide))
	*kept = append(*kept, room)
	return address(room), func() error {
		b.Reset()
		b.WriteString(decoded(room, p.shape.wide))
		return nil
	}, nil
}

// list gives numbers, and the list what they are afterwards.
func (p given) list(v object.Value, kept *[][]byte) (uintptr, func() error, error) {
	if v == nil {
		return 0, nil, nil
	}
	items, ok := v.([]object.Value)
	if !ok {
		return 0, nil, object.CannotConvert(v, p.of.name+"[]")
	}
	if len(items) == 0 {
		return 0, nil, nil
	}

	s := shape{
		form:   number,
		size:   p.shape.size,
		signed: p.shape.signed,
	}
	room := make([]byte, s.size*len(items))
	for i, item := range items {
		if err := s.put(room[i*s.size:][:s.size], item, kept); err != nil {
			return 0, nil, err
		}
	}

	*kept = append(*kept, room)
	return address(room), func() error {
		for i := range items {
			items[i] = s.number(room[i*s.size:][:s.size])
		}
		return nil
	}, nil
}
