package token

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
)

// containerUser is the user of a container who is no administrator. Wine's token has every user among administrators.
const (
	containerUser  = `User Manager\ContainerUser`
	administrators = "S-1-5-32-544"
)

// Current returns who the program runs as.
func Current() (Identity, error) {
	var current windows.Token
	if err := windows.OpenProcessToken(windows.CurrentProcess(), windows.TOKEN_QUERY, &current); err != nil {
		return Identity{}, fmt.Errorf("open the access token: %w", err)
	}
	defer current.Close()

	user, err := current.GetTokenUser()
	if err != nil {
		return Identity{}, fmt.Errorf("read the user of the access token: %w", err)
	}
	groups, err := current.GetTokenGroups()
	if err != nil {
		return Identity{}, fmt.Errorf("read the groups of the access token: %w", err)
	}

	privileges, err := privilegesOf(current)
	if err != nil {
		return Identity{}, fmt.Errorf("read the privileges of the access token: %w", err)
	}
	who := Identity{
		User:       userName(user.User.Sid),
		SID:        user.User.Sid.String(),
		Privileges: privileges,
	}

	for _, g := range groups.AllGroups() {
		if g.Attributes&windows.SE_GROUP_LOGON_ID == windows.SE_GROUP_LOGON_ID {
			who.Logon = g.Sid.String()
			continue
		}
		who.Groups = append(who.Groups, newGroup(g))
	}

	if who.User == containerUser {
		who.Groups = slices.DeleteFunc(who.Groups, func(g Group) bool { return g.SID == administrators })
	}

	return who, nil
}

// userName returns the user's name with the domain.
func userName(sid *windows.SID) string {
	name := make([]uint16, 512)
	size := uint32(len(name))
	if windows.GetUserNameEx(windows.NameSamCompatible, &name[0], &size) == nil {
		return windows.UTF16ToString(name)
	}
	account, domain, _, err := sid.LookupAccount("")
	if err != nil {
		return sid.String()
	}
	return domain + `\` + account
}

// newGroup describes a group of a token.
func newGroup(g windows.SIDAndAttributes) Group {
	made := Group{SID: g.Sid.String(), Type: "Unknown SID type"}
	account, domain, use, err := g.Sid.LookupAccount("")
	if err == nil {
		made.Name = account
		if domain != "" {
			made.Name = domain + `\` + account
		}
		made.Type = map[uint32]string{
			windows.SidTypeUser: "User", windows.SidTypeGroup: "Group", windows.SidTypeDomain: "Domain",
			windows.SidTypeAlias: "Alias", windows.SidTypeWellKnownGroup: "Well-known group", windows.SidTypeLabel: "Label",
		}[use]
	}

	for _, a := range []struct {
		bit  uint32
		text string
	}{
		{windows.SE_GROUP_MANDATORY, "Mandatory group"},
		{windows.SE_GROUP_USE_FOR_DENY_ONLY, "Group used for deny only"},
		{windows.SE_GROUP_ENABLED_BY_DEFAULT, "Enabled by default"},
		{windows.SE_GROUP_ENABLED, "Enabled group"},
		{windows.SE_GROUP_OWNER, "Group owner"},
	} {
		if g.Attributes&a.bit != 0 {
			made.Attributes = append(made.Attributes, a.text)
		}
	}

	return made
}

// privilegesOf reads the privileges of a token.
func privilegesOf(t windows.Token) ([]Privilege, error) {
	size := uint32(1024)
	for {
		buffer := make([]byte, size)
		err := windows.GetTokenInformation(t, windows.TokenPrivileges, &buffer[0], size, &size)
		if errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) && int(size) > len(buffer) {
			continue
		}
		if err != nil {
			return nil, err
		}

		var all []Privilege
		for _, p := range (*windows.Tokenprivileges)(unsafe.Pointer(&buffer[0])).AllPrivileges() {
			all = append(all, Privilege{
				Name:    privilegeName(p.Luid),
				Enabled: p.Attributes&windows.SE_PRIVILEGE_ENABLED != 0,
			})
		}

		return all, nil
	}
}

// privilegeName returns the name of a privilege by its number on this machine.
func privilegeName(luid windows.LUID) string {
	name := make([]uint16, 64)
	size := uint32(len(name))
	ok, _, _ := windows.NewLazySystemDLL("advapi32.dll").NewProc("LookupPrivilegeNameW").Call(0,
		uintptr(unsafe.Pointer(&luid)), uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&size)))
	if ok == 0 {
		return fmt.Sprintf("privilege %d", luid.LowPart)
	}
	return windows.UTF16ToString(name)
}
