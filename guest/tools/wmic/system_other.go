//go:build !windows

package wmic

// Piped implements System: only Windows is asked.
func (local) Piped() bool { return false }
