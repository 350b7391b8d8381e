package localaccounts

import (
	"errors"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/internal/windows/wire/localuser"
)

// userKind is the kind of the objects that are accounts.
const userKind = "local user"

// saidOfUser returns the error of a change in the words of the module.
func saidOfUser(err error, name string) error {
	switch {
	case errors.Is(err, localuser.ErrNotFound):
		return userNotFound(name)
	case errors.Is(err, localuser.ErrExists):
		return failure("UserExists", "ResourceExists", name, "User "+name+" already exists.")
	case errors.Is(err, localuser.ErrBuiltIn):
		return failure("InvalidOperation", object.InvalidOperating, name, "Cannot perform this operation on built-in accounts.")
	case errors.Is(err, localuser.ErrName):
		return failure("InvalidName", "InvalidArgument", name, "The name "+name+" is invalid.")
	}
	return err
}

func userNotFound(name string) error {
	return failure("UserNotFound", object.ObjectNotFound, name, "User "+name+" was not found.")
}

// userObject returns an account as Get-LocalUser shows it
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.localaccounts/get-localuser).
func userObject(u localuser.User) *object.Object {
	o := object.New(userKind).Set("Name", u.Name).Set("Enabled", u.Enabled).Set("Description", u.Comment)
	for name, v := range map[string]object.Value{
		"objectclass": "User", "principalsource": "Local", "fullname": u.FullName, "accountexpires": nil, "lastlogon": nil,
		"passwordexpires": nil, "passwordlastset": nil, "passwordrequired": !u.PasswordOptional,
		"usermaychangepassword": !u.PasswordFixed,
	} {
		o.Props[name] = v
	}
	if !u.PasswordSet.IsZero() {
		o.Props["passwordlastset"] = object.DateTime{At: u.PasswordSet}
		if !u.NeverExpires {
			o.Props["passwordexpires"] = object.DateTime{At: u.PasswordSet.AddDate(0, 0, 42)} // the policy of a new server
		}
	}
	return o
}

// changeUser changes accounts, and reports an error in the words of the module.
func changeUser(
	c *cmdlet.Call, name string, do func(u localuser.Users) (localuser.Users, error),
) (done bool, err error) {
	if err := c.State.System.Users.Change(do); err != nil {
		return false, c.Fail(saidOfUser(err, name))
	}
	return true, nil
}

func getUsers(c *cmdlet.Call) error {
	users, err := c.State.System.Users.Read()
	if err != nil {
		return c.Fail(err)
	}
	var all []string
	for _, u := range users {
		all = append(all, u.Name)
	}
	found, err := matching(c, c.Names("name", "name"), all, userNotFound)
	if err != nil {
		return err
	}

	for _, name := range found {
		u, _ := users.Find(name)
		if err := c.Out.Put(userObject(u)); err != nil {
			return err
		}
	}
	return nil
}

func newUser(c *cmdlet.Call) error {
	one := localuser.User{
		Name:         c.Text("name"),
		FullName:     c.Text("fullname"),
		Comment:      c.Text("description"),
		Enabled:      !c.Flags["disabled"],
		NeverExpires: c.Flags["passwordneverexpires"],

		PasswordOptional: c.Values["password"] == nil,
	}
	if c.Values["password"] != nil {
		one.PasswordSet = time.Now()
	}
	if err := filesOf(c).add(one); err != nil {
		return c.Fail(saidOfUser(err, one.Name))
	}
	return c.Out.Put(userObject(one))
}

// setUsers changes what is given of accounts. A flag says so only if it is there.
func setUsers(c *cmdlet.Call) error {
	return eachUser(c, func(one *localuser.User) {
		if v, given := c.Values["fullname"]; given {
			one.FullName = object.Text(v)
		}
		if v, given := c.Values["description"]; given {
			one.Comment = object.Text(v)
		}
		if c.Values["password"] != nil {
			one.PasswordSet, one.PasswordOptional = time.Now(), false
		}
		if v, given := c.Values["passwordneverexpires"]; given {
			one.NeverExpires = object.Truth(v)
		}
	})
}

// eachUser changes each of the accounts that are named.
func eachUser(c *cmdlet.Call, how func(one *localuser.User)) error {
	for _, name := range c.Names("name", "name") {
		if _, err := changeUser(c, name, func(u localuser.Users) (localuser.Users, error) {
			return u.Change(name, how)
		}); err != nil {
			return err
		}
	}
	return nil
}

// enable returns what switches accounts on or off.
func enable(on bool) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error { return eachUser(c, func(one *localuser.User) { one.Enabled = on }) }
}

// renameUser gives accounts other names, which they have in their groups too.
func renameUser(c *cmdlet.Call) error {
	to := c.Text("newname")
	for _, name := range c.Names("name", "name") {
		if err := filesOf(c).rename(name, to); err != nil {
			if err := c.Fail(saidOfUser(err, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeUsers removes accounts, which then are members of no group.
func removeUsers(c *cmdlet.Call) error {
	for _, name := range c.Names("name", "name") {
		if err := filesOf(c).remove(name); err != nil {
			if err := c.Fail(saidOfUser(err, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// userDeeds says with -WhatIf what is done to accounts.
func userDeeds(what string) func(c *cmdlet.Call) ([]cmdlet.Deed, error) {
	return func(c *cmdlet.Call) (deeds []cmdlet.Deed, err error) {
		for _, name := range c.Names("name", "name") {
			deeds = append(deeds, cmdlet.Deed{What: what, On: name})
		}
		return deeds, nil
	}
}

// userCmdlets returns the cmdlets of accounts.
func userCmdlets() []cmdlet.Cmdlet {
	named := func(c cmdlet.Cmdlet) cmdlet.Cmdlet {
		c.Values = append([]string{"name"}, c.Values...)
		c.Positions = append([]string{"name"}, c.Positions...)
		c.Takes = "name"
		if c.WhatIf != nil {
			c.Needs = append([]string{"name"}, c.Needs...)
		}
		return c
	}

	return []cmdlet.Cmdlet{
		named(cmdlet.Cmdlet{
			Name:    "Get-LocalUser",
			Aliases: []string{"glu"},
			Run:     getUsers,
			About:   "the local accounts",
		}),
		named(cmdlet.Cmdlet{
			Name: "New-LocalUser", Aliases: []string{"nlu"}, Run: newUser, WhatIf: userDeeds("Create new local user"),
			Values: []string{"password", "fullname", "description"},
			Flags:  []string{"nopassword", "disabled", "passwordneverexpires", "accountneverexpires"},
			Needs:  []string{"password|nopassword"},
			About: "makes an account, which is listed and can be a member of groups; nobody can log on with it, and its password " +
				"is not kept",
		}),
		named(cmdlet.Cmdlet{
			Name: "Set-LocalUser", Aliases: []string{"slu"}, Run: setUsers, WhatIf: userDeeds("Modify local user"),
			Values: []string{"password", "fullname", "description", "passwordneverexpires"},
			About:  "changes what is said of an account",
		}),
		named(cmdlet.Cmdlet{
			Name: "Remove-LocalUser", Aliases: []string{"rlu"}, Run: removeUsers, WhatIf: userDeeds("Remove local user"),
			About: "removes an account that Windows does not bring itself",
		}),
		named(cmdlet.Cmdlet{
			Name: "Rename-LocalUser", Aliases: []string{"rnlu"}, Run: renameUser, WhatIf: userDeeds("Rename local user"),
			Values: []string{"newname"}, Positions: []string{"newname"}, Needs: []string{"newname"},
			About: "gives an account another name",
		}),
		named(cmdlet.Cmdlet{
			Name: "Enable-LocalUser", Aliases: []string{"elu"}, Run: enable(true), WhatIf: userDeeds("Enable local user"),
			About: "switches an account on",
		}),
		named(cmdlet.Cmdlet{
			Name: "Disable-LocalUser", Aliases: []string{"dlu"}, Run: enable(false), WhatIf: userDeeds("Disable local user"),
			About: "switches an account off",
		}),
	}
}
