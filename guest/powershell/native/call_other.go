//go:build !windows

package native

import (
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// call says that there are no libraries.
func call(library string, _ []string, _ []uintptr) (result uintptr, last uint32, err error) {
	return 0, 0, object.Raise("System.DllNotFoundException", "Unable to load DLL '"+library+"': there are no libraries of "+
		"Windows on this system.")
}

// share does nothing: there is no function that asks.
func share(*session.State) error { return nil }

func toANSI(s string) []byte { return []byte(s) }

func fromANSI(b []byte) string { return string(b) }

// give frees nothing: all memory here is Go's.
func give(uintptr) error { return nil }
