// Package localaccounts has cmdlets of the module Microsoft.PowerShell.LocalAccounts: the local groups that net
// localgroup shows too, and the accounts, as net user shows them. Nobody can log on with an account that was made.
package localaccounts

import (
	"errors"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
)

// failure returns an error of this module: the name of its exception is that of the error
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.localaccounts/).
func failure(id, category, target, message string) error {
	return &object.Exception{
		Class: "Microsoft.PowerShell.Commands." + id + "Exception", ID: id, Category: category, Target: target, Message: message,
	}
}

func groupNotFound(name string) error {
	return failure("GroupNotFound", object.ObjectNotFound, name, "Group "+name+" was not found.")
}

// said returns the error of a change in the words of the module.
func said(err error, group, member string) error {
	switch {
	case errors.Is(err, localgroup.ErrNotFound):
		return groupNotFound(group)
	case errors.Is(err, localgroup.ErrExists):
		return failure("GroupExists", "ResourceExists", group, "Group "+group+" already exists.")
	case errors.Is(err, localgroup.ErrBuiltIn):
		return failure("InvalidOperation", object.InvalidOperating, group, "Cannot perform this operation on built-in accounts.")
	case errors.Is(err, localgroup.ErrName):
		return failure("InvalidName", "InvalidArgument", group, "The name "+group+" is invalid.")
	case errors.Is(err, localgroup.ErrMember):
		return failure("MemberExists", "ResourceExists", group, member+" is already a member of group "+group+".")
	case errors.Is(err, localgroup.ErrNotMember):
		return failure("MemberNotFound", object.ObjectNotFound, group, "Member "+member+" was not found in group "+group+".")
	}

	return err
}

func groupObject(g localgroup.Group) *object.Object {
	o := object.New("local group").Set("Name", g.Name).Set("Description", g.Comment)
	o.Props["objectclass"], o.Props["principalsource"] = "Group", "Local"
	return o
}

// matching returns the names that patterns match; one without a wild card that matches none is complained about.
func matching(c *cmdlet.Call, patterns, all []string, missing func(name string) error) ([]string, error) {
	if len(patterns) == 0 && !c.Piped {
		return all, nil
	}

	var found []string
	for _, one := range patterns {
		re, err := pattern.Wildcard(one)
		if err != nil {
			return nil, err
		}

		before := len(found)
		for _, name := range all {
			if re.MatchString(name) {
				found = append(found, name)
			}
		}

		if len(found) == before && !strings.ContainsAny(one, "*?[") {
			if err := c.Fail(missing(one)); err != nil {
				return nil, err
			}
		}
	}

	return found, nil
}

func getGroups(c *cmdlet.Call) error {
	groups, err := c.State.System.Groups.Read()
	if err != nil {
		return c.Fail(err)
	}

	var all []string
	for _, g := range groups {
		all = append(all, g.Name)
	}

	found, err := matching(c, c.Names("name", "name"), all, groupNotFound)
	if err != nil {
		return err
	}

	for _, name := range found {
		g, _ := groups.Find(name)
		if err := c.Out.Put(groupObject(g)); err != nil {
			return err
		}
	}

	return nil
}

// change changes groups, and reports an error in the words of the module.
func change(
	c *cmdlet.Call, group, member string, do func(g localgroup.Groups) (localgroup.Groups, error),
) (done bool, err error) {
	if err := c.State.System.Groups.Change(do); err != nil {
		return false, c.Fail(said(err, group, member))
	}
	return true, nil
}

func newGroup(c *cmdlet.Call) error {
	name, about := c.Text("name"), c.Text("description")
	done, err := change(c, name, "", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Add(name, about) })
	if err != nil || !done {
		return err
	}
	return c.Out.Put(groupObject(localgroup.Group{Name: name, Comment: about}))
}

func setGroup(c *cmdlet.Call) error {
	for _, name := range c.Names("name", "name") {
		if _, err := change(c, name, "", func(g localgroup.Groups) (localgroup.Groups, error) {
			return g.Comment(name, c.Text("description"))
		}); err != nil {
			return err
		}
	}
	return nil
}

func removeGroups(c *cmdlet.Call) error {
	for _, name := range c.Names("name", "name") {
		if _, err := change(c, name, "", func(g localgroup.Groups) (localgroup.Groups, error) { return g.Delete(name) }); err != nil {
			return err
		}
	}
	return nil
}

// account returns the whole name of an account, "" if there is none. The computer's name before it may be left out.
func account(c *cmdlet.Call, name string) string {
	if rest, ours := strings.CutPrefix(strings.ToLower(name), strings.ToLower(c.State.Env["COMPUTERNAME"])+`\`); ours {
		name = rest
	}
	if known := localgroup.Account(name); known != "" {
		return known
	}
	users, err := c.State.System.Users.Read()
	if err != nil {
		return ""
	}
	one, _ := users.Find(name)
	return one.Name
}

// memberObject returns a member of a group: its name with the computer's, as there.
func memberObject(c *cmdlet.Call, name string) *object.Object {
	kind := "Group"
	users, _ := c.State.System.Users.Read() // without them it is a group
	if _, is := users.Find(name); is {
		kind, name = "User", c.State.Env["COMPUTERNAME"]+`\`+name
	}
	source := "Unknown"
	if kind == "User" {
		source = "Local"
	}
	return object.New("local principal").Set("ObjectClass", kind).Set("Name", name).Set("PrincipalSource", source)
}

func getMembers(c *cmdlet.Call) error {
	groups, err := c.State.System.Groups.Read()
	if err != nil {
		return c.Fail(err)
	}

	for _, name := range c.Names("group", "name") {
		g, found := groups.Find(name)
		if !found {
			if err := c.Fail(groupNotFound(name)); err != nil {
				return err
			}
			continue
		}

		for _, m := range g.Members {
			if v, given := c.Values["member"]; given && !strings.EqualFold(account(c, object.Text(v)), m) {
				continue
			}
			if err := c.Out.Put(memberObject(c, m)); err != nil {
				return err
			}
		}
	}

	return nil
}

// changeMembers adds accounts to a group, or removes them from it.
func changeMembers(
	do func(g localgroup.Groups, group, member string) (localgroup.Groups, error),
) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		group := c.Text("group")
		if o, is := c.Values["group"].(*object.Object); is {
			group = object.Text(o.Value("name"))
		}

		for _, name := range c.Names("member", "name") {
			member := account(c, name)
			if member == "" {
				err := c.Fail(failure("PrincipalNotFound", object.ObjectNotFound, name, "Principal "+name+" was not found."))
				if err != nil {
					return err
				}
				continue
			}

			if _, err := change(c, group, name, func(g localgroup.Groups) (localgroup.Groups, error) {
				return do(g, group, member)
			}); err != nil {
				return err
			}
		}

		return nil
	}
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	return append(userCmdlets(), []cmdlet.Cmdlet{
		{
			Name: "Get-LocalGroup", Aliases: []string{"glg"}, Run: getGroups, Values: []string{"name"},
			Positions: []string{"name"}, Takes: "name", About: "the local groups, as net localgroup shows them",
		},
		{
			Name: "New-LocalGroup", Aliases: []string{"nlg"}, Run: newGroup, Values: []string{"name", "description"},
			Positions: []string{"name"}, Needs: []string{"name"}, About: "makes a local group",
		},
		{
			Name: "Set-LocalGroup", Aliases: []string{"slg"}, Run: setGroup, Values: []string{"name", "description"},
			Positions: []string{"name"}, Takes: "name", Needs: []string{"name", "description"},
			About: "gives a local group another description",
		},
		{
			Name: "Remove-LocalGroup", Aliases: []string{"rlg"}, Run: removeGroups, Values: []string{"name"},
			Positions: []string{"name"}, Takes: "name", Needs: []string{"name"},
			About: "removes a local group that Windows does not bring itself",
		},
		{
			Name: "Get-LocalGroupMember", Aliases: []string{"glgm"}, Run: getMembers, Values: []string{"group", "member"},
			Also: map[string]string{"name": "group"}, Positions: []string{"group", "member"}, Takes: "group",
			Needs: []string{"group"}, About: "the members of a local group",
		},
		{
			Name: "Add-LocalGroupMember", Aliases: []string{"algm"}, Values: []string{"group", "member"},
			Also: map[string]string{"name": "group"}, Positions: []string{"group", "member"}, Takes: "member",
			Needs: []string{"group", "member"}, Run: changeMembers(localgroup.Groups.Join),
			About: "makes accounts members of a local group",
		},
		{
			Name: "Remove-LocalGroupMember", Aliases: []string{"rlgm"}, Values: []string{"group", "member"},
			Also: map[string]string{"name": "group"}, Positions: []string{"group", "member"}, Takes: "member",
			Needs: []string{"group", "member"}, Run: changeMembers(localgroup.Groups.Leave),
			About: "takes accounts out of a local group",
		},
	}...)
}
