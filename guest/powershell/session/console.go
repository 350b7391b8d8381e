package session

import "cmp"

// Console is the console that shows what a session prints.
type Console interface {
	// Columns and Rows are how many its window has now, 0 if nobody knows.
	Columns() int
	Rows() int
	// Paint gives what is written from now on colours, which System.ConsoleColor names in letters of either case; an
	// empty one stays. undo gives it those that it had.
	Paint(foreground, background string) (undo func())
}

// Paint gives what is shown from now on colours, if a console shows it.
func (s *State) Paint(foreground, background string) (undo func()) {
	if s.Console == nil || (foreground == "" && background == "") {
		return func() {}
	}
	return s.Console.Paint(foreground, background)
}

// Columns returns how many columns a line may have, as a console of Windows has them where none shows it. One is left
// free: a line that fills a row to its end would begin another one.
func (s *State) Columns() int {
	const otherwise = 120
	if s.Console == nil {
		return otherwise
	}
	return cmp.Or(max(0, s.Console.Columns()-1), otherwise)
}
