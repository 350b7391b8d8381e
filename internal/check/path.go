package check

import (
	"fmt"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/check/manifest"
)

// step is one part of a Match's path: a field, each item of a list, or a key of a map whose keys the user chooses.
type step struct {
	key  string
	each bool // key is empty: each item of the list
	user bool // key was written in brackets
}

// parsePath reads paths such as spec.containers[*].image and spec.nodeSelector[kubernetes.io/os].
func parsePath(path string) ([]step, error) {
	var steps []step
	for rest := path; rest != ""; {
		s, after, ok := nextStep(rest)
		if !ok || (len(steps) == 0 && (s.each || s.user)) {
			return nil, fmt.Errorf("path %q: want fields with dots between them, and [*] or [key] after one", path)
		}
		steps = append(steps, s)
		rest = after
	}
	if len(steps) == 0 || strings.HasSuffix(path, ".") {
		return nil, fmt.Errorf("path %q: an empty part", path)
	}
	return steps, nil
}

// nextStep splits the first part off a path.
func nextStep(path string) (s step, rest string, ok bool) {
	if path[0] == '[' {
		key, after, ok := strings.Cut(path[1:], "]")
		s = step{key: key, user: true}
		if key == "*" {
			s = step{each: true}
		}
		return s, strings.TrimPrefix(after, "."), ok && key != ""
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return step{key: path[:end]}, strings.TrimPrefix(path[end:], "."), end > 0
}

// addTo adds the step to a path.
func (s step) addTo(path string) string {
	if s.user {
		return path + "[" + s.key + "]"
	}
	return join(path, s.key)
}

// Value is a value and its place.
type Value struct {
	Node *manifest.Node
	At   Hit
}

// Values returns every value at a path that begins at this one.
func (v Value) Values(path string) []Value { return values(v.Node, v.At, path) }

// values returns every value at a path below n, whose place is at.
func values(n *manifest.Node, at Hit, path string) []Value {
	// A path without forks needs no memory; most paths end early, and few fork.
	for rest := path; rest != ""; {
		s, after, ok := nextStep(rest)
		if !ok {
			return nil
		}

		rest = after
		if s.each {
			var found []Value
			for i, item := range n.Elements() {
				here := Hit{Pos: item.Pos, Path: at.Path + "[" + strconv.Itoa(i) + "]"}
				if rest == "" {
					found = append(found, Value{item, here})
				} else {
					found = append(found, values(item, here, rest)...)
				}
			}

			return found
		}

		f := n.Field(s.key)
		if f == nil || !f.Value.Set() {
			return nil
		}
		n, at = f.Value, Hit{Pos: f.Pos, Path: s.addTo(at.Path)}
	}

	return []Value{{n, at}}
}

// walk returns every place below n at which the condition holds. at is the place and path of n itself.
func (c *compiled) walk(n *manifest.Node, steps []step, at Hit) []Hit {
	if len(steps) == 0 {
		if c.holds(n) {
			return []Hit{at}
		}
		return nil
	}

	if steps[0].each {
		var hits []Hit
		for i, item := range n.Elements() {
			hits = append(hits, c.walk(item, steps[1:], Hit{
				Pos:  item.Pos,
				Path: at.Path + "[" + strconv.Itoa(i) + "]",
			})...)
		}
		return hits
	}

	f := n.Field(steps[0].key)
	if f == nil {
		if c.Op != Absent {
			return nil
		}
		for _, s := range steps {
			if s.each {
				return nil // a list without items has nothing in which a field could be absent
			}
			at.Path = s.addTo(at.Path)
		}

		return []Hit{at}
	}

	return c.walk(f.Value, steps[1:], Hit{Pos: f.Pos, Path: steps[0].addTo(at.Path)})
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}
