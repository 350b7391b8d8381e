package aksengine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// The most that is said of one model.
const (
	maxNotes  = 200
	maxFaults = 20
)

// reader gathers what is said of a model. Nothing of it repeats the text of a value, which may be a password, unless
// quoted lets it through.
type reader struct {
	notes  []Note
	unsaid int // notes beyond maxNotes
	faults []error
}

func (r *reader) note(path, format string, args ...any) {
	if len(r.notes) == maxNotes {
		r.unsaid++
		return
	}
	r.notes = append(r.notes, Note{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) fail(path, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
	}
}

func (r *reader) err() error { return errors.Join(r.faults...) }

// object is an object of JSON. What is not taken out of it is named in the end.
type object struct {
	r      *reader
	path   string
	fields map[string]any
	taken  map[string]bool
}

// object makes an object of a value; a missing one is empty.
func (r *reader) object(path string, value any) object {
	o := object{
		r:     r,
		path:  path,
		taken: map[string]bool{},
	}
	if value == nil {
		return o
	}

	fields, ok := value.(map[string]any)
	if !ok {
		r.fail(path, "is %s, want an object", kind(value))
	}
	o.fields = fields
	return o
}

// take returns a field. Names count without regard to case, as for aks-engine's own decoder, encoding/json.
func (o object) take(name string) (value any, path string) {
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		if strings.EqualFold(key, name) {
			o.taken[key] = true
			value, path = o.fields[key], o.at(key)
		}
	}
	if path == "" {
		path = o.at(name)
	}
	return value, path
}

// at returns the path of a field.
func (o object) at(key string) string {
	if !plainKey.MatchString(key) {
		key = fmt.Sprintf("%.60q", key)
	}
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

var plainKey = lazyregexp.New(`^[A-Za-z0-9_./-]{1,60}$`)

func (o object) object(name string) object {
	value, path := o.take(name)
	return o.r.object(path, value)
}

func (o object) list(name string) (items []any, path string) {
	value, path := o.take(name)
	items, ok := value.([]any)
	if !ok && value != nil {
		o.r.fail(path, "is %s, want a list", kind(value))
	}
	return items, path
}

// text returns a string; a missing one is empty.
func (o object) text(name string) (text, path string) {
	value, path := o.take(name)
	text, ok := value.(string)
	if !ok && value != nil {
		o.r.fail(path, "is %s, want a string", kind(value))
	}
	return text, path
}

// number returns a whole number from 1 to most; ok is false if it is missing or wrong.
func (o object) number(name string, most int) (n int, path string, ok bool) {
	value, path := o.take(name)
	if value == nil {
		return 0, path, false
	}
	number, ok := value.(json.Number)
	if !ok {
		o.r.fail(path, "is %s, want a number", kind(value))
		return 0, path, false
	}

	n, err := strconv.Atoi(number.String())
	if err != nil || n < 1 || n > most {
		o.r.fail(path, "%.20s is not a whole number from 1 to %d", number.String(), most)
		return 0, path, false
	}

	return n, path, true
}

// flag returns a boolean, and whether it is set.
func (o object) flag(name string) (on, set bool, path string) {
	value, path := o.take(name)
	on, set = value.(bool)
	if !set && value != nil {
		o.r.fail(path, "is %s, want true or false", kind(value))
	}
	return on, set, path
}

// rest notes the fields that were not taken and say something. because gives the reason for known ones.
func (o object) rest(because map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		if o.taken[key] || empty(o.fields[key]) {
			continue
		}
		reason := "unknown, ignored"
		for name, why := range because {
			if strings.EqualFold(name, key) {
				reason = "ignored: " + why
			}
		}
		o.r.note(o.at(key), "%s", reason)
	}
}

// empty reports whether a value says nothing.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, inner := range v {
			if !empty(inner) {
				return false
			}
		}
		return true
	}

	return false
}

// kind names the kind of a value, and not the value.
func kind(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}

	return "an object"
}

// quoted returns the text of a value that names a plugin or a version, shortened; any other text stays unsaid.
func quoted(text string) string {
	if len(text) <= 40 && plainKey.MatchString(text) {
		return strconv.Quote(text)
	}
	return "what it says"
}
