// Package cleanup owns the undo stack: functions that undo, in reverse order, what an operation has done so far, if the
// operation ends before it is complete. The caller decides when to undo.
//
//	var undo cleanup.Stack
//	defer undo.Clean()
//	… undo.Add(func() error { return os.Remove(path) }) …
//	undo.Release()
package cleanup

import "errors"

// Stack is a list of functions that undo what was done. The zero value is empty and ready to use. It is not safe for
// concurrent use.
type Stack struct {
	undo []func() error
}

// Add puts undo on top: it will run before everything added earlier.
func (s *Stack) Add(undo func() error) {
	s.undo = append(s.undo, undo)
}

// Clean runs everything added since the last Release or Clean, last added first, each even if another returns an
// error, and returns their errors joined.
func (s *Stack) Clean() error {
	var errs []error
	for len(s.undo) > 0 {
		last := len(s.undo) - 1
		undo := s.undo[last]
		s.undo = s.undo[:last]
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

// Release forgets everything added: the operation is complete.
func (s *Stack) Release() {
	s.undo = nil
}
