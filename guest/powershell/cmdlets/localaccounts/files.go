package localaccounts

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
	"mullion.dev/mullion/internal/windows/wire/localuser"
)

// files are the accounts and the groups, which are two files. A program that is ended between them leaves no member
// that is no account, but of a rename, and what a rename leaves is no member once an account of that name is made: so
// nobody comes into a group by it.
type files struct {
	users  system.LocalUsers
	groups system.LocalGroups
}

func filesOf(c *cmdlet.Call) files { return files{c.State.System.Users, c.State.System.Groups} }

// add makes an account, which is a member of no group.
func (f files) add(one localuser.User) error {
	return f.users.Change(func(u localuser.Users) (localuser.Users, error) {
		with, err := u.Add(one)
		if err != nil {
			return u, err
		}
		groups, err := f.groups.Read()
		if err != nil || !groups.Has(one.Name) {
			return with, err
		}
		return with, f.leave(one.Name)
	})
}

// remove removes an account. Its memberships end first.
func (f files) remove(name string) error {
	return f.users.Change(func(u localuser.Users) (localuser.Users, error) {
		left, err := u.Delete(name)
		if err != nil {
			return u, err
		}
		return left, f.leave(name)
	})
}

// rename gives an account another name. It is a member of its groups by both in between.
func (f files) rename(from, to string) error {
	changed := func(how func(g localgroup.Groups) localgroup.Groups) error {
		return f.groups.Change(func(g localgroup.Groups) (localgroup.Groups, error) { return how(g), nil })
	}
	err := f.users.Change(func(u localuser.Users) (localuser.Users, error) {
		renamed, err := u.Change(from, func(one *localuser.User) { one.Name = to })
		if err != nil {
			return u, err
		}
		return renamed, changed(func(g localgroup.Groups) localgroup.Groups { return g.Alike(from, to) })
	})
	if err != nil || strings.EqualFold(from, to) {
		return err
	}
	return f.leave(from)
}

// leave ends all memberships of a name.
func (f files) leave(name string) error {
	return f.groups.Change(func(g localgroup.Groups) (localgroup.Groups, error) { return g.Without(name), nil })
}
