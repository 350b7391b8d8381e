// Package localuser owns the local accounts of a Windows host or container: those that exist from the beginning, and
// the file on its C: drive that lists the accounts once they were changed, in place of Windows' account database.
// Nobody can log on with an account that was made, so the file has no passwords.
package localuser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// Path is where Windows programs find the file.
const Path = `C:\Windows\System32\config\LocalUsers`

// maxName is the longest name of an account, in characters
// (https://learn.microsoft.com/windows/win32/api/lmaccess/ns-lmaccess-user_info_1).
const maxName = 20

// Errors of changes, each one of Windows' system errors
// (https://learn.microsoft.com/windows/win32/netmgmt/network-management-error-codes).
var (
	ErrNotFound = errors.New("the user name could not be found")
	ErrExists   = errors.New("the account already exists")
	ErrBuiltIn  = errors.New("cannot perform this operation on built-in accounts")
	ErrName     = errors.New("the user name is invalid")
)

// User is an account. PasswordSet is when it was given a password; zero: it has none.
type User struct {
	Name, FullName, Comment string
	Enabled                 bool
	NeverExpires            bool // its password does not
	PasswordSet             time.Time
	// RID is the last part of the SID of an account that exists from the beginning, by which Windows knows it whatever
	// its name; 0: it was made.
	RID uint32 `json:",omitempty"`
	// PasswordOptional says that it needs no password, PasswordFixed that its user may not change it.
	PasswordOptional, PasswordFixed bool `json:",omitempty"`
}

// The RIDs of the accounts that exist from the beginning
// (https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-identifiers).
const (
	ridAdministrator      = 500
	ridGuest              = 501
	ridDefaultAccount     = 503
	ridWDAGUtilityAccount = 504
)

// Users are the accounts of a host, by name.
type Users []User

// BuiltIn returns the accounts of a new Windows Server
// (https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-default-user-accounts).
func BuiltIn() Users {
	return Users{
		{
			RID:     ridAdministrator,
			Name:    "Administrator",
			Comment: "Built-in account for administering the computer/domain",
			Enabled: true,
		},
		{
			RID:              ridDefaultAccount,
			Name:             "DefaultAccount",
			Comment:          "A user account managed by the system.",
			PasswordOptional: true,
		},
		{
			RID:              ridGuest,
			Name:             "Guest",
			Comment:          "Built-in account for guest access to the computer/domain",
			PasswordOptional: true,
			PasswordFixed:    true,
		},
		{
			RID:     ridWDAGUtilityAccount,
			Name:    "WDAGUtilityAccount",
			Comment: "A user account managed and used by the system for Windows Defender Application Guard scenarios.",
		},
	}
}

// Find returns the account of that name, without regard to case.
func (u Users) Find(name string) (User, bool) {
	i := u.index(name)
	if i < 0 {
		return User{}, false
	}
	return u[i], true
}

func (u Users) index(name string) int {
	return slices.IndexFunc(u, func(one User) bool { return strings.EqualFold(one.Name, name) })
}

// Add makes an account.
func (u Users) Add(one User) (Users, error) {
	if !valid(one.Name) {
		return u, ErrName
	}
	if u.index(one.Name) >= 0 {
		return u, ErrExists
	}
	return sorted(append(slices.Clone(u), one)), nil
}

// Delete removes an account. Those that exist from the beginning cannot be removed, under another name neither.
func (u Users) Delete(name string) (Users, error) {
	i := u.index(name)
	switch {
	case i < 0:
		return u, ErrNotFound
	case u[i].RID != 0:
		return u, ErrBuiltIn
	}
	return slices.Delete(slices.Clone(u), i, i+1), nil
}

// Change changes an account by how, which may give it another name.
func (u Users) Change(name string, how func(one *User)) (Users, error) {
	i := u.index(name)
	if i < 0 {
		return u, ErrNotFound
	}
	changed := slices.Clone(u)
	how(&changed[i])
	now := changed[i].Name
	if !valid(now) {
		return u, ErrName
	}
	if !strings.EqualFold(now, name) && u.index(now) >= 0 {
		return u, ErrExists
	}
	return sorted(changed), nil
}

func sorted(u Users) Users {
	slices.SortStableFunc(u, func(a, b User) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return u
}

// valid reports whether Windows takes a name: not the characters that it forbids, and more than dots and spaces.
func valid(name string) bool {
	return strings.Trim(name, ". ") != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxName &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune(`"/\[]:;|=,+*?<>@`, r) })
}

// Read reads a host's accounts. If there is no file, nothing was changed yet, and they are BuiltIn.
func Read(file string) (Users, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return BuiltIn(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read local users: %w", err)
	}

	var users Users
	if err := json.Unmarshal(data, &users); err != nil {
		return nil, fmt.Errorf("read local users of %s: %w", file, err)
	}
	for _, one := range users {
		if !valid(one.Name) {
			return nil, fmt.Errorf("read local users of %s: %q is no name", file, one.Name)
		}
	}
	return withRIDs(users), nil
}

// withRIDs gives the accounts of a file without RIDs those that their names have from the beginning. Only a file that
// was written before accounts had them is without: no account with one can be removed.
func withRIDs(users Users) Users {
	if slices.ContainsFunc(users, func(one User) bool { return one.RID != 0 }) {
		return users
	}
	for i, one := range users {
		if first, is := BuiltIn().Find(one.Name); is {
			users[i].RID, users[i].PasswordFixed = first.RID, first.PasswordFixed
			users[i].PasswordOptional = first.PasswordOptional && one.PasswordSet.IsZero()
		}
	}
	return users
}

// Write writes a host's accounts, whole or not at all.
func Write(file string, users Users) error {
	data, err := json.MarshalIndent(users, "", "  ")
	if err != nil {
		return fmt.Errorf("write local users: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make folder of local users: %w", err)
	}
	return atomicfile.Write(file, append(data, '\n'), 0o644)
}
