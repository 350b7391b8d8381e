package system

// RegistryCalls are the calls of Windows' registry. A key is given by its whole name, HKEY_LOCAL_MACHINE\SOFTWARE.
// fs.ErrNotExist is the error for a key or value that is not there, fs.ErrPermission for one that may not be used.
type RegistryCalls interface {
	// Read returns the names of a key's subkeys, and its values.
	Read(key string) (subkeys []string, values []RegistryValue, err error)
	// Create makes a key and the keys above it. A key that is there stays as it is.
	Create(key string) error
	Set(key string, v RegistryValue) error
	// RemoveKey removes a key without subkeys.
	RemoveKey(key string) error
	RemoveValue(key, name string) error
}
