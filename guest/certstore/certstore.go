// Package certstore reads and changes the stores of certificates of the Windows on which the program runs: those that
// TLS clients trust, and others
// (https://learn.microsoft.com/windows/win32/seccrypto/system-store-locations).
package certstore

// System are the stores of Windows. A store is named as Windows names it, such as "Root"; machine says that it is the
// machine's, not the user's. Certificates are DER.
type System struct{}

// Names returns the stores that every Windows has.
func (System) Names(bool) []string {
	return []string{
		"AuthRoot", "CA", "Disallowed", "My", "Root", "SmartCardRoot", "Trust", "TrustedPeople", "TrustedPublisher",
	}
}
