package powershell

import "time"

// moment is a time, for example the LastWriteTime of a file. It can only be shown and compared with another.
type moment struct{ at time.Time }

// text is the time as .NET writes it into a string, in the invariant culture.
func (m moment) text() string { return m.at.Format("01/02/2006 15:04:05") }

func (m moment) order(b value) (int, error) {
	other, ok := b.(moment)
	if !ok {
		return 0, thrown("Comparing a time with %q is not part of Mullion's PowerShell.", text(b))
	}
	return m.at.Compare(other.at), nil
}
