package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxJSONDepth bounds how deep JSON is nested; it is ConvertTo-Json's own largest -Depth.
const MaxJSONDepth = 100

// FromJSON parses JSON; objects have their properties in the text's order.
func FromJSON(source string) (Value, error) {
	d := json.NewDecoder(strings.NewReader(source))
	d.UseNumber()
	v, err := jsonValue(d, 0)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return v, nil
		}
		err = errors.New("there is more after its end")
	}
	return nil, Thrown("Invalid JSON: %v", err)
}

func jsonValue(d *json.Decoder, depth int) (Value, error) {
	if depth > MaxJSONDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", MaxJSONDepth)
	}

	token, err := d.Token()
	if err != nil {
		return nil, err
	}

	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return jsonList(d, depth)
		}
		return jsonObject(d, depth)
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return t.Float64()
	case string:
		return t, nil
	case bool:
		return t, nil
	}

	return nil, nil
}

func jsonList(d *json.Decoder, depth int) (Value, error) {
	items := []Value{}
	for d.More() {
		v, err := jsonValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	_, err := d.Token()
	return items, err
}

func jsonObject(d *json.Decoder, depth int) (Value, error) {
	o := New(Custom)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := jsonValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		o.Put(fmt.Sprint(name), v)
	}

	_, err := d.Token()
	return o, err
}
