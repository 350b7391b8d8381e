package localaccounts

import (
	"errors"
	"slices"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
	"mullion.dev/mullion/internal/windows/wire/localuser"
)

var errEnded = errors.New("the program is ended")

// disk has both files, and lets so many be written.
type disk struct {
	users  localuser.Users
	groups localgroup.Groups
	writes int
}

func (d *disk) write(do func()) error {
	if d.writes == 0 {
		return errEnded
	}
	d.writes--
	do()
	return nil
}

type usersOf struct{ *disk }

func (d usersOf) Read() (localuser.Users, error) { return d.users, nil }

func (d usersOf) Change(change func(u localuser.Users) (localuser.Users, error)) error {
	u, err := change(d.users)
	if err != nil {
		return err
	}
	return d.write(func() { d.users = u })
}

type groupsOf struct{ *disk }

func (d groupsOf) Read() (localgroup.Groups, error) { return d.groups, nil }

func (d groupsOf) Change(change func(g localgroup.Groups) (localgroup.Groups, error)) error {
	g, err := change(d.groups)
	if err != nil {
		return err
	}
	return d.write(func() { d.groups = g })
}

// TestEndedBetween ends a program after each of its writes: a member that has no account becomes nobody's membership,
// and what is done again gets to its end.
func TestEndedBetween(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	const admins = "Administrators"
	member := func(d *disk, name string) bool {
		g, _ := d.groups.Find(admins)
		return slices.Contains(g.Members, name)
	}
	account := func(d *disk, name string) bool { _, is := d.users.Find(name); return is }

	for _, tt := range []struct {
		name string
		do   func(f files) error
		// over reports whether it is done, wrong says what must not be at any time.
		over, wrong func(d *disk) bool
	}{
		{
			name:  "remove",
			do:    func(f files) error { return f.remove("bob") },
			over:  func(d *disk) bool { return !account(d, "bob") },
			wrong: func(d *disk) bool { return member(d, "bob") && !account(d, "bob") },
		},
		{
			name: "rename",
			do:   func(f files) error { return f.rename("bob", "rob") },
			over: func(d *disk) bool { return account(d, "rob") },
			wrong: func(d *disk) bool {
				return (account(d, "bob") && !member(d, "bob")) || (account(d, "rob") && !member(d, "rob"))
			},
		},
		{
			name:  "add",
			do:    func(f files) error { return f.add(localuser.User{Name: "ghost"}) },
			over:  func(d *disk) bool { return account(d, "ghost") },
			wrong: func(d *disk) bool { return account(d, "ghost") && member(d, "ghost") },
		},
	} {
		for writes := range 4 {
			users, err := localuser.BuiltIn().Add(localuser.User{Name: "bob"})
			if err != nil {
				t.Fatal(err)
			}

			d := &disk{
				users:  users,
				groups: localgroup.BuiltIn(),
				writes: writes,
			}
			for _, name := range []string{"bob", "ghost"} {
				if d.groups, err = d.groups.Join(admins, name); err != nil {
					t.Fatal(err)
				}
			}

			f := files{usersOf{d}, groupsOf{d}}
			if err := tt.do(f); err != nil && !errors.Is(err, errEnded) {
				t.Errorf("%s: %v", tt.name, err)
			}
			if tt.wrong(d) {
				t.Errorf("%s, ended after %d writes: %+v", tt.name, writes, d)
			}
			if d.writes = 4; !tt.over(d) {
				if err := tt.do(f); err != nil || !tt.over(d) || tt.wrong(d) {
					t.Errorf("%s again, after %d writes: %v, %+v", tt.name, writes, err, d)
				}
			}
		}
	}
}
