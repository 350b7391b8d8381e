//go:build !windows

package lineedit

import "os"

// Console is the console of this process.
type Console struct{}

// Open returns none: only Windows has such consoles.
func Open(_, _ *os.File) (*Console, bool) { return nil, false }

// ReadLine is not called: there is no console.
func (*Console) ReadLine(*Editor, string, func() bool) (string, error) { return "", ErrInterrupted }

// Columns is not called either.
func (*Console) Columns() int { return 0 }

// Rows is not called either.
func (*Console) Rows() int { return 0 }

// Paint is not called either.
func (*Console) Paint(_, _ string) func() { return func() {} }

// Typed is not called either.
func (*Console) Typed() bool { return false }
