package system

import "mullion.dev/mullion/internal/windows/wire/localgroup"

// LocalGroups are the local groups of this Windows, which net localgroup shows too.
type LocalGroups interface {
	Read() (localgroup.Groups, error)
	// Change makes a change, while no other program makes one.
	Change(change func(g localgroup.Groups) (localgroup.Groups, error)) error
}

type localGroups struct{}

func (localGroups) Read() (localgroup.Groups, error) { return localgroup.Read(localgroup.Path) }

func (localGroups) Change(change func(g localgroup.Groups) (localgroup.Groups, error)) error {
	return localgroup.Alone(func() error {
		g, err := localgroup.Read(localgroup.Path)
		if err != nil {
			return err
		}
		if g, err = change(g); err != nil {
			return err
		}
		return localgroup.Write(localgroup.Path, g)
	})
}
