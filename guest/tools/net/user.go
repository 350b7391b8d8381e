package net

import (
	"errors"
	"strings"
	"time"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
	"mullion.dev/mullion/internal/windows/wire/localuser"
)

// userRequest holds the arguments of net user
// (https://learn.microsoft.com/previous-versions/windows/it-pro/windows-server-2012-r2-and-2012/cc771865(v=ws.11)).
type userRequest struct {
	name, password    string
	add, del, changes bool
	values            map[string]string // of options with one, by name
}

// rule is the line between a heading and a list.
var rule = strings.Repeat("-", 79)

// user is net user: it lists the accounts, shows one, makes, changes or removes it. Nobody can log on with one that was
// made, and its password is not kept.
func user(e program.Env, sys System, args []string) int {
	r, ok := parseUser(args)
	if !ok {
		e.Complain("The syntax of this command is:\r\n\r\n" +
			"NET USER\r\n[username [password] [options]]\r\n" +
			"         username [password] /ADD [options]\r\n         username [/DELETE]\r\n         username [/ACTIVE: {no | yes}]")
		return netSyntax
	}
	if r.add || r.del || r.changes {
		return changeUser(e, sys, r)
	}

	users, err := localuser.Read(sys.Users())
	if err != nil {
		return userError(e, err)
	}
	if r.name == "" {
		e.Print("\r\nUser accounts for \\\\%s\r\n\r\n%s", sys.Name(), rule)
		for i := 0; i < len(users); i += 3 {
			line := ""
			for _, one := range users[i:min(i+3, len(users))] {
				line += padded(one.Name, 25)
			}
			e.Print("%s", line)
		}
		e.Print("The command completed successfully.\r\n")
		return netDone
	}

	one, there := users.Find(r.name)
	if !there {
		return userError(e, localuser.ErrNotFound)
	}
	groups, err := localgroup.Read(sys.Groups())
	if err != nil {
		return userError(e, err)
	}
	showUser(e, one, groups)
	return netDone
}

// parseUser reads the arguments. ok is false for what net user does not have here.
func parseUser(args []string) (r userRequest, ok bool) {
	r.values = map[string]string{}
	var free []string
	for _, arg := range args {
		if !strings.HasPrefix(arg, "/") {
			free = append(free, arg)
			continue
		}
		if !r.option(arg) {
			return r, false
		}
	}

	if len(free) > 0 {
		r.name = free[0]
	}
	if len(free) == 2 {
		r.password, r.changes = free[1], true
	}
	return r, len(free) <= 2 && r.fits()
}

// option reads one option, and reports whether there is such a one.
func (r *userRequest) option(arg string) bool {
	name, value, valued := strings.Cut(arg[1:], ":")
	name = strings.ToLower(name)
	if valued {
		takes := map[string]func(value string) bool{
			"comment":     func(string) bool { return true },
			"fullname":    func(string) bool { return true },
			"active":      yesOrNo,
			"passwordreq": yesOrNo,
			"passwordchg": yesOrNo,
			"expires":     func(value string) bool { return strings.EqualFold(value, "never") },
		}[name]
		if takes == nil || !takes(value) {
			return false
		}
		r.changes, r.values[name] = true, value
		return true
	}

	switch name {
	case "add":
		r.add = true
	case "delete", "del":
		r.del = true
	case "y", "yes":
	default:
		return false
	}
	return true
}

// fits reports whether the arguments go together. A password of * would be asked for, and nobody is.
func (r *userRequest) fits() bool {
	switch changes := r.add || r.del || r.changes; {
	case r.add && r.del, r.del && r.changes, r.password == "*":
		return false
	case r.name == "":
		return !changes
	}
	return true
}

func yesOrNo(value string) bool {
	return strings.EqualFold(value, "yes") || strings.EqualFold(value, "no")
}

// changeUser makes, changes or removes an account. One that is made is a member of Users, as on Windows.
func changeUser(e program.Env, sys System, r userRequest) int {
	err := sys.Alone(func() error {
		users, err := localuser.Read(sys.Users())
		if err != nil {
			return err
		}
		if !r.add && !r.del {
			if users, err = users.Change(r.name, r.apply); err != nil {
				return err
			}
			return localuser.Write(sys.Users(), users)
		}

		groups, err := localgroup.Read(sys.Groups())
		if err != nil {
			return err
		}
		if r.del {
			return r.remove(sys, users, groups)
		}
		return r.make(sys, users, groups)
	})
	if err != nil {
		return userError(e, err)
	}
	e.Print("The command completed successfully.\r\n")
	return netDone
}

// make makes an account. What may be left of one of its name has no membership, and it is there before it has one: who
// is ended in between leaves no member that is no account.
func (r userRequest) make(sys System, users localuser.Users, groups localgroup.Groups) error {
	one := localuser.User{Name: r.name, Enabled: true}
	r.apply(&one)
	users, err := users.Add(one)
	if err != nil {
		return err
	}
	if groups.Has(r.name) {
		groups = groups.Without(r.name)
		if err := localgroup.Write(sys.Groups(), groups); err != nil {
			return err
		}
	}
	if groups, err = groups.Join("Users", r.name); err != nil {
		return err
	}
	if err := localuser.Write(sys.Users(), users); err != nil {
		return err
	}
	return localgroup.Write(sys.Groups(), groups)
}

// remove removes an account. Its memberships end first, as make says.
func (r userRequest) remove(sys System, users localuser.Users, groups localgroup.Groups) error {
	users, err := users.Delete(r.name)
	if err != nil {
		return err
	}
	if err := localgroup.Write(sys.Groups(), groups.Without(r.name)); err != nil {
		return err
	}
	return localuser.Write(sys.Users(), users)
}

// apply changes what the options name.
func (r userRequest) apply(one *localuser.User) {
	if r.password != "" {
		one.PasswordSet = time.Now()
	}
	if v, given := r.values["comment"]; given {
		one.Comment = v
	}
	if v, given := r.values["fullname"]; given {
		one.FullName = v
	}
	if v, given := r.values["active"]; given {
		one.Enabled = strings.EqualFold(v, "yes")
	}
	if v, given := r.values["passwordreq"]; given {
		one.PasswordOptional = strings.EqualFold(v, "no")
	}
	if v, given := r.values["passwordchg"]; given {
		one.PasswordFixed = strings.EqualFold(v, "no")
	}
}

// showUser prints what net user says of an account, as far as there is something of it.
func showUser(e program.Env, one localuser.User, groups localgroup.Groups) {
	yes := map[bool]string{true: "Yes", false: "No"}
	set := "Never"
	if !one.PasswordSet.IsZero() {
		set = one.PasswordSet.Format("1/2/2006 3:04:05 PM")
	}
	member := ""
	for _, g := range groups {
		for _, m := range g.Members {
			if strings.EqualFold(m, one.Name) {
				member += padded("*"+g.Name, 22)
			}
		}
	}

	for _, line := range [][2]string{
		{"User name", one.Name},
		{"Full Name", one.FullName},
		{"Comment", one.Comment},
		{"Account active", yes[one.Enabled]},
		{"Account expires", "Never"},
		{"", ""},
		{"Password last set", set},
		{"Password required", yes[!one.PasswordOptional]},
		{"User may change password", yes[!one.PasswordFixed]},
		{"", ""},
		{"Last logon", "Never"},
		{"", ""},
		{"Local Group Memberships", member},
		{"Global Group memberships", "*None"},
	} {
		e.Print("%s", strings.TrimRight(padded(line[0], 29)+line[1], " "))
	}
	e.Print("The command completed successfully.\r\n")
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-len(text)))
}

// userError prints an error of an account, in the words of Windows.
func userError(e program.Env, err error) int {
	for _, known := range []struct {
		err  error
		code int
		text string
	}{
		{localuser.ErrNotFound, 2221, "The user name could not be found."},
		{localuser.ErrExists, 2224, "The account already exists."},
		{localuser.ErrName, 2202, "The specified username is invalid."},
	} {
		if errors.Is(err, known.err) {
			e.Complain("%s\r\n\r\nMore help is available by typing NET HELPMSG %d.\r\n", known.text, known.code)
			return netFailed
		}
	}
	if errors.Is(err, localuser.ErrBuiltIn) {
		err = localgroup.ErrBuiltIn
	}
	return netError(e, err)
}
