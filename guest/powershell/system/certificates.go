package system

// Certificates are the stores of certificates: package certstore says what each method does.
type Certificates interface {
	Names(machine bool) []string
	List(machine bool, store string) ([][]byte, error)
	Add(machine bool, store string, certificate []byte) (added bool, err error)
	Remove(machine bool, store string, certificate []byte) error
}
