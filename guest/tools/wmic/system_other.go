//go:build !windows

package wmic

// Output implements System: only Windows is asked.
func (local) Output() Output { return Pipe }
