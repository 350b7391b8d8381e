// Package sam finds the accounts that the layers of a Windows image add (`RUN net user NAME /add`), in their changes of
// HKLM\SAM, the hive Hives/Sam_Delta of each layer. Passwords are not read: whoever may start a container may choose
// its user.
//
// Windows does not document the hive. These facts are those that tools for forensics and for lost passwords use
// (RegRipper's samparse, chntpw's sam.h): the name of an account is a key below SAM\Domains\Account\Users\Names, whose
// default value has the account's relative id for its type; the members of a local group are SIDs at the end of the
// value C of SAM\Domains\Builtin\Aliases\<relative id>.
package sam

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mullion.dev/mullion/internal/windows/regf"
)

// Account is a user of an image.
type Account struct {
	// Name is as the image spells it.
	Name string `json:"name"`
	// Administrator says that the account is a member of the local group Administrators.
	Administrator bool `json:"administrator,omitempty"`
}

const (
	namesKey       = `SAM\Domains\Account\Users\Names`
	administrators = `SAM\Domains\Builtin\Aliases\00000220` // S-1-5-32-544

	// firstAdded is the least relative id of an account that Windows has not made itself.
	firstAdded = 1000
	// mostAccounts is more than an image has.
	mostAccounts = 1000
	maxName      = 256 // UNLEN of lmcons.h
	// mostRead bounds what is read of all layers, of which an image may have hundreds: of hives, and of the paths and
	// data of their keys, which are more where keys and values lie in many places. It is some hundred times what
	// Windows writes.
	mostRead = 64 << 20
)

// Accounts are those of an image. The zero value has none.
type Accounts struct {
	users   map[string]user // by name in lower case
	members map[uint32]bool // of Administrators, by relative id
	read    int             // bytes, in all layers
}

type user struct {
	name string
	id   uint32
}

// Apply applies what a layer's hive changes; layers come from the lowest up. The errors are those of regf. After
// regf.ErrTooLarge no more is read.
func (a *Accounts) Apply(hive []byte) error {
	if err := a.count(len(hive)); err != nil {
		return err
	}

	return regf.Walk(hive, func(k regf.Key) error {
		if err := a.count(sizeOf(k)); err != nil {
			return err
		}
		parent, name := "", k.Path
		if i := strings.LastIndexByte(k.Path, '\\'); i >= 0 {
			parent, name = k.Path[:i], k.Path[i+1:]
		}

		switch {
		case strings.EqualFold(k.Path, namesKey) && k.Layer != regf.Merge && k.Layer != regf.Replace:
			a.users = nil
		case strings.EqualFold(parent, namesKey):
			return a.applyName(name, k)
		case strings.EqualFold(k.Path, administrators):
			return a.applyGroup(k)
		}

		return nil
	})
}

// count counts bytes that are read.
func (a *Accounts) count(bytes int) error {
	if a.read = min(a.read+bytes, mostRead+1); a.read > mostRead {
		return fmt.Errorf("%w: the layers have more than %d MiB", regf.ErrTooLarge, mostRead>>20)
	}
	return nil
}

func sizeOf(k regf.Key) int {
	const least = 64 // what a key takes without a name
	size := least + len(k.Path)
	for _, v := range k.Values {
		size += least + len(v.Name) + len(v.Data)
	}
	return size
}

func (a *Accounts) applyName(name string, k regf.Key) error {
	if k.Layer == regf.Tombstone {
		delete(a.users, strings.ToLower(name))
		return nil
	}

	for _, v := range k.Values {
		if v.Name != "" || v.Tombstone || v.Type < firstAdded || !mayBeName(name) {
			continue
		}
		if a.users == nil {
			a.users = map[string]user{}
		}
		if len(a.users) == mostAccounts {
			return fmt.Errorf("%w: it has more than %d accounts", regf.ErrTooLarge, mostAccounts)
		}

		a.users[strings.ToLower(name)] = user{name, v.Type}
	}

	return nil
}

// mayBeName reports whether Windows would make an account of that name
// (https://learn.microsoft.com/windows-server/administration/windows-commands/net-user). An image comes from anybody, and
// its account has a line in a file and a folder.
func mayBeName(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && strings.Trim(name, ". ") == name &&
		!strings.ContainsAny(name, `"/\[]:;|=,+*?<>@`) && strings.IndexFunc(name, unicode.IsControl) < 0
}

// Places in the value C of a group: where its members are, behind the head, and how many bytes they take.
const (
	groupHead    = 0x34
	membersAt    = 0x28
	membersBytes = 0x2c
)

// applyGroup takes the members of Administrators that are local accounts.
func (a *Accounts) applyGroup(k regf.Key) error {
	if k.Layer == regf.Tombstone {
		a.members = nil
		return nil
	}

	for _, v := range k.Values {
		if !strings.EqualFold(v.Name, "C") || v.Tombstone {
			continue
		}
		if len(v.Data) < groupHead {
			return fmt.Errorf("%w: a group of %d bytes", regf.ErrFormat, len(v.Data))
		}

		at := uint64(binary.LittleEndian.Uint32(v.Data[membersAt:])) + groupHead
		end := at + uint64(binary.LittleEndian.Uint32(v.Data[membersBytes:]))
		if end > uint64(len(v.Data)) {
			return fmt.Errorf("%w: a group's members end behind it", regf.ErrFormat)
		}
		var err error
		if a.members, err = members(v.Data[at:end]); err != nil {
			return err
		}
	}

	return nil
}

// members returns the relative ids of the local accounts (S-1-5-21-…) among SIDs
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp, 2.4.2.2).
func members(sids []byte) (map[uint32]bool, error) {
	const head, part, accountParts = 8, 4, 5
	ids := map[uint32]bool{}
	for len(sids) >= head {
		parts := int(sids[1])
		size := head + part*parts
		if sids[0] != 1 || len(sids) < size {
			break
		}

		if parts == accountParts && binary.LittleEndian.Uint32(sids[head:]) == 21 {
			ids[binary.LittleEndian.Uint32(sids[size-part:])] = true
			if len(ids) > mostAccounts {
				return nil, fmt.Errorf("%w: a group has more than %d members", regf.ErrTooLarge, mostAccounts)
			}
		}
		sids = sids[size:]
	}

	return ids, nil
}

// Find finds an account by its name, without regard to case.
func (a *Accounts) Find(name string) (Account, bool) {
	u, ok := a.users[strings.ToLower(name)]
	return Account{Name: u.name, Administrator: a.members[u.id]}, ok
}
