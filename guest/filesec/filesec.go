// Package filesec reads and writes who may do what with a file: its owner and the list of access
// (https://learn.microsoft.com/windows/win32/secauthz/access-control-lists). It works out what a file inherits from the
// folder in which it lies.
package filesec

import (
	"slices"
	"strings"
)

// The flags of an entry (https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-ace_header).
const (
	ObjectInherit    = 1
	ContainerInherit = 2
	NoPropagate      = 4
	InheritOnly      = 8
	Inherited        = 0x10
)

// The rights of the names that icacls has for them, for files
// (https://learn.microsoft.com/windows/win32/fileio/file-security-and-access-rights).
const (
	FullAccess  = 0x1f01ff
	Modify      = 0x1301bf
	ReadExecute = 0x1200a9
	Read        = 0x120089
	Write       = 0x120116
	Delete      = 0x110000

	// genericAll stands for FullAccess in what a folder hands on (GENERIC_ALL).
	genericAll = 0x10000000
)

// Entry is an entry of a list of access.
type Entry struct {
	Deny  bool
	Flags uint8
	// Mask are the rights, SID is whose they are.
	Mask uint32
	SID  string
}

// Explicit reports whether an entry is the file's own.
func (e Entry) Explicit() bool { return e.Flags&Inherited == 0 }

// List is a file's list of access, and its owner.
type List struct {
	Owner     string
	Protected bool // nothing is inherited
	Entries   []Entry
}

// The groups that stand for a file's owner.
const creatorOwner, creatorGroup = "S-1-3-0", "S-1-3-1"

// Inherit returns what a file with an owner inherits from the list of its folder
// (https://learn.microsoft.com/windows/win32/secauthz/ace-inheritance-rules).
func (l List) Inherit(folder bool, owner string) []Entry {
	var got []Entry
	for _, e := range l.Entries {
		direct := e.Flags&ObjectInherit != 0
		if folder {
			direct = e.Flags&ContainerInherit != 0
		}
		below := uint8(0) // what folders hand on
		if folder && e.Flags&NoPropagate == 0 {
			below = e.Flags & (ObjectInherit | ContainerInherit)
		}

		creator := e.SID == creatorOwner || e.SID == creatorGroup
		switch {
		case direct && creator:
			of := Entry{
				Deny:  e.Deny,
				Flags: Inherited,
				Mask:  e.Mask,
				SID:   owner,
			}
			if of.Mask == genericAll { // as what holds for the file itself says it
				of.Mask = FullAccess
			}

			if e.SID == creatorOwner && owner != "" && !slices.Contains(got, of) { // an owner that is named too is listed once
				got = append(got, of)
			}

			if below != 0 {
				got = append(got, Entry{
					Deny:  e.Deny,
					Flags: Inherited | InheritOnly | below,
					Mask:  e.Mask,
					SID:   e.SID,
				})
			}

		case direct:
			got = append(got, Entry{
				Deny:  e.Deny,
				Flags: Inherited | below,
				Mask:  e.Mask,
				SID:   e.SID,
			})

		case below != 0:
			got = append(got, Entry{
				Deny:  e.Deny,
				Flags: Inherited | InheritOnly | below,
				Mask:  e.Mask,
				SID:   e.SID,
			})
		}
	}

	return got
}

// Sort puts the entries into the order of Windows: the file's own before those that it inherits, and of its own those
// that deny first (https://learn.microsoft.com/windows/win32/secauthz/order-of-aces-in-a-dacl).
func (l *List) Sort() {
	rank := func(e Entry) int {
		switch {
		case !e.Explicit():
			return 2
		case e.Deny:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(l.Entries, func(a, b Entry) int { return rank(a) - rank(b) })
}

// containerAccounts returns the users of Windows containers by SID, which Windows' User Manager service makes. Wine
// does not know their names
// (https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-security).
func containerAccounts() map[string]string {
	return map[string]string{
		"S-1-5-93-2-1": `User Manager\ContainerAdministrator`,
		"S-1-5-93-2-2": `User Manager\ContainerUser`,
	}
}

// containerAccount returns the SID of a container's user, named with or without its domain; "" for every other name.
func containerAccount(name string) string {
	for sid, full := range containerAccounts() {
		_, short, _ := strings.Cut(full, `\`)
		if strings.EqualFold(name, full) || strings.EqualFold(name, short) {
			return sid
		}
	}
	return ""
}
