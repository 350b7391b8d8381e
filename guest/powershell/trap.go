package powershell

import (
	"errors"
	"slices"
)

// trapStmt is trap { … }: what is done at an error of any statement of the block that it stands in
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_trap).
type trapStmt struct{ catch }

func (s *trapStmt) check(c *checker)        { s.body.check(c) }
func (s *trapStmt) run(*frame, *sink) error { return nil }

// trap reads what follows the word trap.
func (p *parser) trap() (stmt, error) {
	one, err := p.catch()
	if len(one.types) > 1 {
		return nil, p.unexpected()
	}
	return &trapStmt{one}, err
}

// traps are the traps of a block, nil if it has none.
func (b block) traps() *tryStmt {
	if !slices.ContainsFunc(b, func(s stmt) bool { _, is := s.(*trapStmt); return is }) {
		return nil
	}
	s := &tryStmt{}
	for _, one := range b {
		if t, ok := one.(*trapStmt); ok {
			s.catches = append(s.catches, t.catch)
		}
	}
	// The one for a type goes before the one for all.
	slices.SortStableFunc(s.catches, func(a, b catch) int { return len(b.types) - len(a.types) })
	return s
}

// trapped runs a statement of a block with traps. After an error of it the script goes on with the next statement,
// unless the trap says break; the error is printed, unless the trap says continue.
func (f *frame) trapped(s stmt, traps *tryStmt, out *sink) error {
	f.in.tries++
	err := s.run(f, out)
	f.in.tries--
	if err == nil || !catchable(err) {
		return err
	}
	again := traps.catch(f, err, out)
	left, leaves := errors.AsType[*leaving](again)
	switch {
	case errors.Is(again, err): // for no trap
		return f.ended(err)
	case leaves && left.word == "continue":
		return nil
	case leaves && left.word == "break":
		return err
	case again != nil:
		return again
	}
	f.in.ok = false
	r := f.in.recordHere(err)
	f.in.errs.keep(r)
	return f.in.errs.put(r, f.in.session.Newline)
}
