package powershell

import "time"

// moment is a time, as the LastWriteTime of a file: it is shown and compared with another, and there is no more to it.
type moment struct{ at time.Time }

// text is how .NET writes a time into a string, of no culture.
func (m moment) text() string { return m.at.Format("01/02/2006 15:04:05") }

func (m moment) order(b value) (int, error) {
	other, ok := b.(moment)
	if !ok {
		return 0, thrown("Comparing a time with %q is not part of Mullion's PowerShell.", text(b))
	}
	return m.at.Compare(other.at), nil
}
