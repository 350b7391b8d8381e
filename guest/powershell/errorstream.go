package powershell

import (
	"fmt"
	"io"
	"slices"
)

// errorStream is where errors go.
type errorStream struct {
	w      io.Writer    // where they are printed: Stderr of the session, or nowhere
	merged *sink        // the output that they are a part of by 2>&1, nil: they are printed
	kept   []*arrayList // the variables of -ErrorVariable of what runs
}

// put prints an error, or makes it a part of the output.
func (s errorStream) put(r *record, newline string) error {
	if s.merged != nil {
		return s.merged.put(&instance{recordClass(), r})
	}
	_, err := fmt.Fprintf(s.w, "%s%s", r.text(), newline)
	return err
}

// keep puts an error into the variables of -ErrorVariable.
func (s errorStream) keep(r *record) {
	for _, list := range s.kept {
		is := func(v value) bool { return own[*record](v) == r }
		if !slices.ContainsFunc(list.items, is) { // it may end several calls
			list.items = append(list.items, &instance{recordClass(), r})
		}
	}
}

// apart is a sink for the output of what has errors of its own: those of what takes the output go where they go now.
func (in *interpreter) apart(out *sink) *sink {
	outer := in.errs
	return &sink{direct: out.direct, ranges: out.ranges, put: func(v value) error {
		inner := in.errs
		in.errs = outer
		defer func() { in.errs = inner }()
		return out.put(v)
	}}
}

// keeping runs what has -ErrorVariable.
func (f *frame) keeping(list *arrayList, do func() error) error {
	if list == nil {
		return do()
	}
	in := f.in
	before := in.errs
	in.errs.kept = slices.Concat(before.kept, []*arrayList{list})
	err := do()
	if err != nil && catchable(err) {
		(errorStream{kept: []*arrayList{list}}).keep(in.recordHere(err))
	}
	in.errs = before
	return err
}
