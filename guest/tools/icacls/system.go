package icacls

import "mullion.dev/mullion/guest/filesec"

// System says who may do what with files. Accounts are SIDs.
type System interface {
	// Access and SetAccess read and write a file's list; nothing is handed on to what lies below.
	Access(path string) (filesec.List, error)
	SetAccess(path string, list filesec.List) error
	// SetOwner makes an account a file's owner.
	SetOwner(path, sid string) error
	// Account is the name of an account, LookupAccount the account of a name or of a SID after a *.
	Account(sid string) string
	LookupAccount(name string) (sid string, err error)
}

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// Access implements System, as the next four do.
func (local) Access(path string) (filesec.List, error) { return filesec.Of(path) }

// SetAccess is of System.
func (local) SetAccess(path string, l filesec.List) error { return filesec.Set(path, l) }

// SetOwner is of System.
func (local) SetOwner(path, sid string) error { return filesec.SetOwner(path, sid) }

// Account is of System.
func (local) Account(sid string) string { return filesec.Account(sid) }

// LookupAccount is of System.
func (local) LookupAccount(name string) (string, error) { return filesec.Lookup(name) }
