package pefile

import "strings"

// Redistributable reports whether programs may bring a system library (its name in lower case) themselves; Wine then
// prefers theirs (Visual C++ redistributables,
// https://learn.microsoft.com/cpp/windows/determining-which-dlls-to-redistribute).
func Redistributable(base string) bool {
	for _, prefix := range []string{
		"vcruntime", "msvcp", "concrt", "vcomp", "vccorlib", "mfc", "atl1", "msvcr1",
		"ucrtbase",
	} {
		if strings.HasPrefix(base, prefix) {
			return true
		}
	}
	return false
}
