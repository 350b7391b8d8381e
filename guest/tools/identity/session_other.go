//go:build !windows

package identity

// Session implements System.
func (local) Session() uint32 { return 0 }
