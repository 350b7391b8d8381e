package certutil

import "mullion.dev/mullion/guest/certstore"

// System is what certutil needs of Windows.
type System interface {
	// Add adds a certificate (DER) to a store, such as "Root", of the machine or of the user, and reports whether it
	// was not there before.
	Add(machine bool, store string, certificate []byte) (added bool, err error)
}

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return certstore.System{} }
