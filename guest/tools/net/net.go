// Package net owns net.exe: local groups, accounts, services and shares. The rest is Wine's.
package net

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
	"mullion.dev/mullion/internal/windows/wire/localuser"
)

// Exit codes of net.
const (
	netDone   = 0
	netSyntax = 1
	netFailed = 2
)

// Run is net: it does localgroup, user, start, stop and the use of a share by its name itself, and leaves the rest to
// Wine's net.
func Run(e program.Env, sys System, args []string) int {
	if len(args) > 0 {
		switch verb := strings.ToLower(args[0]); verb {
		case "localgroup":
			return localGroup(e, sys, args[1:])
		case "user", "users":
			return user(e, sys, args[1:])
		case "start", "stop":
			return service(e, sys, verb, args[1:])
		case "share":
			return share(e, args[1:])
		case "view":
			return view(e, args[1:])
		case "use":
			if len(args) == 2 && strings.HasPrefix(args[1], `\\`) {
				return useShare(e, args[1])
			}
		}
	}

	code, err := sys.Net(e, args)
	if err != nil {
		e.Complain("net: %v", err)
		return netFailed
	}

	return code
}

// errNoPath says that a server or its share is not there.
var errNoPath = errors.New("no such share")

// useShare says whether a share can be used as the programs of this Windows use shares: a container's as the account of
// its credential spec. Nothing is kept.
func useShare(e program.Env, remote string) int {
	_, err := os.Stat(remote)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return netError(e, fs.ErrPermission)
	case err != nil:
		return netError(e, errNoPath)
	}
	e.Print("The command completed successfully.\r\n")
	return netDone
}

// groupRequest holds the arguments of net localgroup
// (https://learn.microsoft.com/previous-versions/windows/it-pro/windows-server-2012-r2-and-2012/cc725622(v=ws.11)).
type groupRequest struct {
	name           string
	members        []string
	comment        string
	commented      bool
	add, del, help bool
}

func localGroup(e program.Env, sys System, args []string) int {
	r, ok := parseLocalGroup(args)
	if !ok || r.help {
		e.Complain("The syntax of this command is:\r\n\r\nNET LOCALGROUP\r\n[groupname [/COMMENT:\"text\"]]\r\n" +
			"              groupname {/ADD [/COMMENT:\"text\"] | /DELETE}\r\n              groupname name [...] {/ADD | /DELETE}\r\n")
		if r.help {
			return netDone
		}
		return netSyntax
	}

	if r.add || r.del || r.commented {
		return changeGroup(e, sys, r)
	}
	groups, err := localgroup.Read(sys.Groups())
	if err != nil {
		return netError(e, err)
	}

	if r.name == "" {
		e.Print("\r\nAliases for \\\\%s\r\n\r\n%s", sys.Name(), strings.Repeat("-", 79))
		for _, g := range groups {
			e.Print("*%s", g.Name)
		}
	} else {
		g, found := groups.Find(r.name)
		if !found {
			return netError(e, localgroup.ErrNotFound)
		}
		e.Print("Alias name     %s\r\nComment        %s\r\n\r\nMembers\r\n\r\n%s", g.Name, g.Comment,
			strings.Repeat("-", 79))
		for _, m := range g.Members {
			e.Print("%s", m)
		}
	}

	e.Print("The command completed successfully.\r\n")
	return netDone
}

func parseLocalGroup(args []string) (r groupRequest, ok bool) {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "/") {
			if r.name == "" {
				r.name = arg
			} else {
				r.members = append(r.members, arg)
			}
			continue
		}

		name, value, has := strings.Cut(arg[1:], ":")
		name = strings.ToLower(name)
		switch {
		case name == "comment" && has:
			r.comment, r.commented = value, true
		case name == "add":
			r.add = true
		case name == "delete" || name == "del":
			r.del = true
		case name == "?" || name == "help":
			r.help = true
			return r, true

		default:
			return r, false
		}
	}

	return r, r.fits()
}

// fits reports whether the arguments go together.
func (r groupRequest) fits() bool {
	changes := r.add || r.del || r.commented
	switch {
	case r.add && r.del, r.del && r.commented, changes && r.name == "":
		return false
	}
	return len(r.members) == 0 || (changes && !r.commented)
}

func changeGroup(e program.Env, sys System, r groupRequest) int {
	var members []string
	for _, m := range r.members {
		account := localgroup.Account(m)
		if users, err := localuser.Read(sys.Users()); err == nil && account == "" {
			one, _ := users.Find(m)
			account = one.Name
		}
		if account == "" {
			e.Complain(
				"There is no such global user or group: %s.\r\n\r\nMore help is available by typing NET HELPMSG 3783.\r\n", m)
			return netFailed
		}
		members = append(members, account)
	}

	err := sys.Alone(func() error {
		groups, err := localgroup.Read(sys.Groups())
		if err != nil {
			return err
		}
		if groups, err = r.apply(groups, members); err != nil {
			return err
		}
		return localgroup.Write(sys.Groups(), groups)
	})
	if err != nil {
		return netError(e, err)
	}

	e.Print("The command completed successfully.\r\n")
	return netDone
}

// apply makes the change.
func (r groupRequest) apply(groups localgroup.Groups, members []string) (localgroup.Groups, error) {
	switch {
	case len(members) == 0 && r.add:
		return groups.Add(r.name, r.comment)
	case len(members) == 0 && r.del:
		return groups.Delete(r.name)
	case r.commented:
		return groups.Comment(r.name, r.comment)
	}

	var err error
	for _, m := range members {
		if r.add {
			groups, err = groups.Join(r.name, m)
		} else {
			groups, err = groups.Leave(r.name, m)
		}
		if err != nil {
			return groups, err
		}
	}

	return groups, nil
}

// netError prints an error as net does: with the number and the text of Windows' system error.
func netError(e program.Env, err error) int {
	for _, known := range []struct {
		err  error
		code int
		text string
	}{
		{localgroup.ErrNotFound, 1376, "The specified local group does not exist."},
		{localgroup.ErrNotMember, 1377, "The specified account name is not a member of the group."},
		{localgroup.ErrMember, 1378, "The specified account name is already a member of the group."},
		{localgroup.ErrExists, 1379, "The specified local group already exists."},
		{localgroup.ErrBuiltIn, 1371, "Cannot perform this operation on built-in accounts."},
		{localgroup.ErrName, 87, "The parameter is incorrect."},
		{errNoPath, 53, "The network path was not found."},
		{fs.ErrPermission, 5, "Access is denied."},
	} {
		if errors.Is(err, known.err) {
			e.Complain("System error %d has occurred.\r\n\r\n%s\r\n", known.code, known.text)
			return netFailed
		}
	}

	e.Complain("%v", err)
	return netFailed
}
