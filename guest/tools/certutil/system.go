package certutil

// System is what certutil needs of Windows.
type System interface {
	// AddCertificate adds a certificate (DER) to a store, such as "Root", of the machine or of the user, and reports
	// whether it was not there before.
	AddCertificate(store string, machine bool, certificate []byte) (added bool, err error)
}
