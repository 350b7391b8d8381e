package engine

import (
	"errors"
	"slices"

	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// note puts an error into $Error.
func (in *Interpreter) note(r *object.ErrorRecord) {
	all := append([]object.Value{&object.Instance{Of: object.RecordClass(), V: r}}, in.failures.Items...)
	in.failures.Items = all[:min(len(all), object.MostErrors)]
}

func (f *frame) runTry(s *lang.TryStmt, out *object.Sink) error {
	f.in.tries++
	err := f.runBlock(s.Body, out)
	f.in.tries--
	if err != nil && object.Catchable(err) {
		err = f.catch(s, err, out)
	}
	if !s.Always {
		return err
	}
	if last := f.runBlock(s.Last, out); last != nil {
		return last
	}
	return err
}

// catch runs the first block that is for the error's type.
func (f *frame) catch(s *lang.TryStmt, err error, out *object.Sink) error {
	r := f.in.recordHere(err)
	for _, one := range s.Catches {
		if len(one.Types) > 0 && !slices.ContainsFunc(one.Types, r.Is) {
			continue
		}
		f.in.OK = true
		f.in.note(r)
		before, had := f.Vars["_"]
		f.Vars["_"] = &object.Instance{Of: object.RecordClass(), V: r}
		f.in.caught = append(f.in.caught, err)
		err := f.runBlock(one.Body, out)
		f.in.caught = f.in.caught[:len(f.in.caught)-1]
		delete(f.Vars, "_")
		if had {
			f.Vars["_"] = before
		}
		return err
	}

	return err
}

func (*frame) runTrap(*lang.TrapStmt, *object.Sink) error { return nil }

// traps returns the traps of a block, nil if it has none.
func traps(b lang.Block) *lang.TryStmt {
	if !slices.ContainsFunc(b, func(s lang.Stmt) bool { _, is := s.(*lang.TrapStmt); return is }) {
		return nil
	}
	s := &lang.TryStmt{}
	for _, one := range b {
		if t, ok := one.(*lang.TrapStmt); ok {
			s.Catches = append(s.Catches, t.Catch)
		}
	}
	// The one for a type goes before the one for all.
	slices.SortStableFunc(s.Catches, func(a, b lang.Catch) int { return len(b.Types) - len(a.Types) })
	return s
}

// trapped runs a statement of a block with traps. After an error of it the script goes on with the next statement,
// unless the trap says break; the error is printed, unless the trap says continue.
func (f *frame) trapped(s lang.Stmt, traps *lang.TryStmt, out *object.Sink) error {
	f.in.tries++
	err := f.run(s, out)
	f.in.tries--
	if err == nil || !object.Catchable(err) {
		return err
	}
	again := f.catch(traps, err, out)
	left, leaves := errors.AsType[*object.Leaving](again)
	switch {
	case errors.Is(again, err): // for no trap
		return f.ended(err)
	case leaves && left.Word == "continue":
		return nil
	case leaves && left.Word == "break":
		return err
	case again != nil:
		return again
	}

	f.in.OK = false
	r := f.in.recordHere(err)
	f.in.errs.keep(r)
	return f.in.show(r)
}
