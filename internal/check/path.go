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
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			key, after, ok := strings.Cut(inner, "]")
			if !ok || key == "" || len(steps) == 0 {
				return nil, fmt.Errorf("path %q: want a field, and then [*] or [key]", path)
			}
			if key == "*" {
				steps = append(steps, step{each: true})
			} else {
				steps = append(steps, step{key: key, user: true})
			}
			rest = strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return nil, fmt.Errorf("path %q: an empty part", path)
		}
		steps = append(steps, step{key: rest[:end]})
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	if len(steps) == 0 || strings.HasSuffix(path, ".") {
		return nil, fmt.Errorf("path %q: an empty part", path)
	}
	return steps, nil
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

// values gives every value that is there at a path below n, whose place is at.
func values(n *manifest.Node, at Hit, path string) []Value {
	steps, err := parsePath(path)
	if err != nil {
		return nil
	}
	found := []Value{{n, at}}
	for _, s := range steps {
		var next []Value
		for _, v := range found {
			if s.each {
				for i, item := range v.Node.Elements() {
					next = append(next, Value{item, Hit{Pos: item.Pos, Path: v.At.Path + "[" + strconv.Itoa(i) + "]"}})
				}
			} else if f := v.Node.Field(s.key); f != nil && f.Value.Set() {
				next = append(next, Value{f.Value, Hit{Pos: f.Pos, Path: s.addTo(v.At.Path)}})
			}
		}
		found = next
	}
	return found
}

// walk gives every place below n where the condition holds. at is the place and path of n itself.
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
			hits = append(hits, c.walk(item, steps[1:], Hit{Pos: item.Pos, Path: at.Path + "[" + strconv.Itoa(i) + "]"})...)
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
				return nil // of no item can anything be absent
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
