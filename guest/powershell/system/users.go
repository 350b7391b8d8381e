package system

import (
	"mullion.dev/mullion/internal/windows/wire/localgroup"
	"mullion.dev/mullion/internal/windows/wire/localuser"
)

// LocalUsers are the local accounts of this Windows, which net user shows too.
type LocalUsers interface {
	Read() (localuser.Users, error)
	// Change makes a change, while no other program makes one.
	Change(change func(u localuser.Users) (localuser.Users, error)) error
}

type localUsers struct{}

func (localUsers) Read() (localuser.Users, error) { return localuser.Read(localuser.Path) }

// Change implements LocalUsers, by the lock that the groups have too.
func (localUsers) Change(change func(u localuser.Users) (localuser.Users, error)) error {
	return localgroup.Alone(func() error {
		u, err := localuser.Read(localuser.Path)
		if err != nil {
			return err
		}
		if u, err = change(u); err != nil {
			return err
		}
		return localuser.Write(localuser.Path, u)
	})
}
