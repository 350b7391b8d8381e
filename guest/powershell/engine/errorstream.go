package engine

import (
	"fmt"
	"io"
	"slices"

	"mullion.dev/mullion/guest/powershell/object"
)

// errorStream is where errors go.
type errorStream struct {
	w      io.Writer           // where they are printed: Stderr of the session, or nowhere
	merged *object.Sink        // the output that they are a part of by 2>&1, nil: they are printed
	kept   []*object.ArrayList // the variables of -ErrorVariable of what runs
}

// put prints an error, or makes it a part of the output.
func (s errorStream) put(r *object.ErrorRecord, newline string) error {
	if s.merged != nil {
		return s.merged.Put(&object.Instance{Of: object.RecordClass(), V: r})
	}
	_, err := fmt.Fprintf(s.w, "%s%s", r.Text(), newline)
	return err
}

// keep puts an error into the variables of -ErrorVariable.
func (s errorStream) keep(r *object.ErrorRecord) {
	for _, list := range s.kept {
		is := func(v object.Value) bool { return object.Own[*object.ErrorRecord](v) == r }
		if !slices.ContainsFunc(list.Items, is) { // it may end several calls
			list.Items = append(list.Items, &object.Instance{Of: object.RecordClass(), V: r})
		}
	}
}

// apart is a sink for the output of what has errors of its own: those of what takes the output go where they go now.
func (in *Interpreter) apart(out *object.Sink) *object.Sink {
	outer := in.errs
	return &object.Sink{Direct: out.Direct, Ranges: out.Ranges, Put: func(v object.Value) error {
		inner := in.errs
		in.errs = outer
		defer func() { in.errs = inner }()
		return out.Put(v)
	}}
}

// keeping runs what has -ErrorVariable.
func (f *frame) keeping(list *object.ArrayList, do func() error) error {
	if list == nil {
		return do()
	}
	in := f.in
	before := in.errs
	in.errs.kept = slices.Concat(before.kept, []*object.ArrayList{list})
	err := do()
	if err != nil && object.Catchable(err) {
		(errorStream{kept: []*object.ArrayList{list}}).keep(in.recordHere(err))
	}
	in.errs = before
	return err
}
