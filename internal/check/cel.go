package check

import (
	"fmt"
	"strconv"
	"strings"
)

// CEL renders the condition as an expression of the Common Expression Language that is true if the condition holds at
// any place. root is the expression at which Path begins, for example object.spec.template. The expression guards every
// optional field with has(), and compares scalars by their text, as Run does, so that it is right for numbers, booleans
// and int-or-string fields.
func (m Match) CEL(root string) (string, error) {
	steps, err := parsePath(m.Path)
	if err != nil {
		return "", err
	}
	return m.cel(root, steps, 0), nil
}

func (m Match) cel(at string, steps []step, depth int) string {
	if len(steps) == 0 {
		return m.celValue(at)
	}
	s, rest := steps[0], steps[1:]
	if s.each {
		v := "i" + strconv.Itoa(depth)
		return fmt.Sprintf("%s.exists(%s, %s)", at, v, m.cel(v, rest, depth+1))
	}

	there, next := fmt.Sprintf("has(%s.%s)", at, s.key), at+"."+s.key
	if s.user {
		there, next = fmt.Sprintf("%s in %s", strconv.Quote(s.key), at), fmt.Sprintf("%s[%s]", at, strconv.Quote(s.key))
	}

	if m.Op == Absent {
		if len(rest) == 0 {
			return "!(" + there + ")"
		}
		for _, r := range rest {
			if r.each {
				return "(" + there + " && " + m.cel(next, rest, depth) + ")"
			}
		}

		return "(!(" + there + ") || " + m.cel(next, rest, depth) + ")"
	}

	if len(rest) == 0 && m.Op == Present {
		return there
	}
	return "(" + there + " && " + m.cel(next, rest, depth) + ")"
}

// celValue returns the condition on an existing value.
func (m Match) celValue(at string) string {
	var quoted []string
	for _, v := range m.Values {
		quoted = append(quoted, strconv.Quote(v))
	}

	switch m.Op {
	case NonEmpty:
		return "size(" + at + ") > 0"
	case In:
		return "string(" + at + ") in [" + strings.Join(quoted, ", ") + "]"
	case NotIn:
		return "!(string(" + at + ") in [" + strings.Join(quoted, ", ") + "])"
	case Matches:
		return "string(" + at + ").matches(" + quoted[0] + ")"
	default: // Present of a list's item; Absent of one, which never is
		return strconv.FormatBool(m.Op == Present)
	}
}

// CEL renders the rule as an expression that is true if the rule has a finding. pod is the expression of the pod or its
// template. ok is false for a rule without such a form, because it is a Func.
func (r *Rule) CEL(pod string) (expr string, ok bool) {
	if len(r.Match) == 0 || (r.Target != OnPod && r.Target != OnContainer) {
		return "", false
	}
	root := pod
	if r.Target == OnContainer {
		root = "c"
	}

	var all, some []string
	for _, m := range r.When {
		e, err := m.CEL(root)
		if err != nil {
			return "", false
		}
		all = append(all, e)
	}

	for _, m := range r.Match {
		e, err := m.CEL(root)
		if err != nil {
			return "", false
		}
		some = append(some, e)
	}

	expr = strings.Join(append(all, "("+strings.Join(some, " || ")+")"), " && ")
	if r.Target == OnPod {
		return expr, true
	}
	var lists []string
	for _, list := range containerLists() {
		lists = append(lists, fmt.Sprintf("(has(%[1]s.spec.%[2]s) && %[1]s.spec.%[2]s.exists(c, %[3]s))", pod, list,
			expr))
	}

	return strings.Join(lists, " || "), true
}
