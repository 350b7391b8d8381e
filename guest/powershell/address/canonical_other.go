//go:build !windows

package address

// canonical returns the name itself: only Windows is asked for the full one.
func canonical(name string) string { return name }
