// Package localgroup owns the local groups of a Windows host: those that exist from the beginning, and the file on its
// C: drive that holds the groups once they were changed, in place of Windows' account database. Programs of the host
// write it (net.exe); the container runtime reads it from outside. It owns no accounts: members are names.
package localgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// Path is where Windows programs find the file. Windows has its account database beside it.
const Path = `C:\Windows\System32\config\LocalGroups`

// maxName is the longest name of a group, in characters
// (https://learn.microsoft.com/windows/win32/api/lmaccess/ns-lmaccess-localgroup_info_0).
const maxName = 256

// Errors of changes, each one of Windows' system errors
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes--1300-1699-).
var (
	ErrNotFound  = errors.New("the specified local group does not exist")
	ErrExists    = errors.New("the specified local group already exists")
	ErrMember    = errors.New("the specified account name is already a member of the group")
	ErrNotMember = errors.New("the specified account name is not a member of the group")
	ErrBuiltIn   = errors.New("cannot perform this operation on built-in accounts")
	ErrName      = errors.New("the parameter is incorrect")
)

// Group is a local group.
type Group struct {
	Name, Comment string
	Members       []string
}

// Groups are the local groups of a host, by name.
type Groups []Group

// Find returns the group of that name, without regard to case.
func (g Groups) Find(name string) (Group, bool) {
	i := g.index(name)
	if i < 0 {
		return Group{}, false
	}
	return g[i], true
}

func (g Groups) index(name string) int {
	return slices.IndexFunc(g, func(one Group) bool { return strings.EqualFold(one.Name, name) })
}

// Add makes a group.
func (g Groups) Add(name, comment string) (Groups, error) {
	if !valid(name) || strings.ContainsAny(comment, "\t\r\n") {
		return g, ErrName
	}
	if g.index(name) >= 0 {
		return g, ErrExists
	}

	g = append(slices.Clone(g), Group{Name: name, Comment: comment})
	slices.SortStableFunc(g, func(a, b Group) int {
		return strings.Compare(strings.ToLower(a.Name),
			strings.ToLower(b.Name))
	})
	return g, nil
}

// Comment gives a group another comment.
func (g Groups) Comment(name, comment string) (Groups, error) {
	if strings.ContainsAny(comment, "\t\r\n") {
		return g, ErrName
	}
	return g.change(name, func(one *Group) error {
		one.Comment = comment
		return nil
	})
}

// Delete removes a group. The groups that exist from the beginning cannot be removed.
func (g Groups) Delete(name string) (Groups, error) {
	i := g.index(name)
	if i < 0 {
		return g, ErrNotFound
	}
	if BuiltIn().index(name) >= 0 {
		return g, ErrBuiltIn
	}
	return slices.Delete(slices.Clone(g), i, i+1), nil
}

// Join makes an account a member of a group.
func (g Groups) Join(name, member string) (Groups, error) {
	return g.change(name, func(one *Group) error {
		if memberIndex(*one, member) >= 0 {
			return ErrMember
		}
		one.Members = append(slices.Clone(one.Members), member)
		return nil
	})
}

// Leave ends an account's membership.
func (g Groups) Leave(name, member string) (Groups, error) {
	return g.change(name, func(one *Group) error {
		i := memberIndex(*one, member)
		if i < 0 {
			return ErrNotMember
		}
		one.Members = slices.Delete(slices.Clone(one.Members), i, i+1)
		return nil
	})
}

// Without ends all memberships of an account.
func (g Groups) Without(member string) Groups {
	changed := slices.Clone(g)
	for i, one := range changed {
		if at := memberIndex(one, member); at >= 0 {
			changed[i].Members = slices.Delete(slices.Clone(one.Members), at, at+1)
		}
	}
	return changed
}

// Has reports whether an account is a member of any group.
func (g Groups) Has(member string) bool {
	return slices.ContainsFunc(g, func(one Group) bool { return memberIndex(one, member) >= 0 })
}

// Alike makes an account a member of the groups of another one, behind it, and of no others: their names may differ in
// case alone, and then are one member.
func (g Groups) Alike(one, other string) Groups {
	changed := slices.Clone(g)
	if !strings.EqualFold(one, other) {
		changed = g.Without(other)
	}
	for i, group := range changed {
		at := memberIndex(group, one)
		switch {
		case at < 0:
		case strings.EqualFold(one, other):
			changed[i].Members = slices.Clone(group.Members)
			changed[i].Members[at] = other
		default:
			changed[i].Members = slices.Insert(slices.Clone(group.Members), at+1, other)
		}
	}
	return changed
}

func memberIndex(g Group, member string) int {
	return slices.IndexFunc(g.Members, func(m string) bool { return strings.EqualFold(m, member) })
}

func (g Groups) change(name string, how func(*Group) error) (Groups, error) {
	i := g.index(name)
	if i < 0 {
		return g, ErrNotFound
	}
	changed := slices.Clone(g)
	if err := how(&changed[i]); err != nil {
		return g, err
	}
	return changed, nil
}

// valid reports whether Windows takes a name: not the characters that it forbids, and more than dots and spaces
// (https://learn.microsoft.com/windows/win32/api/lmaccess/ns-lmaccess-localgroup_info_0).
func valid(name string) bool {
	return strings.Trim(name, ". ") != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxName &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune(`"/\[]:;|=,+*?<>`, r) })
}

// Read reads a host's groups. If there is no file, nothing was changed yet, and the groups are BuiltIn.
func Read(file string) (Groups, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return BuiltIn(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read local groups: %w", err)
	}
	groups, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("read local groups of %s: %w", file, err)
	}
	return groups, nil
}

// mostShown is how many bytes of a line an error has.
const mostShown = 200

// Parse reads the text of a host's groups.
func Parse(text string) (groups Groups, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		fields := strings.Split(line, "\t")
		if len(fields) < 2 || !valid(fields[0]) {
			return nil, fmt.Errorf("%q is no line of groups", line[:min(len(line), mostShown)])
		}

		groups = append(groups, Group{
			Name:    fields[0],
			Comment: fields[1],
			Members: fields[2:],
		})
	}

	return groups, nil
}

// Write writes a host's groups, whole or not at all: a line each, with name, comment and members between tabs.
func Write(file string, groups Groups) error {
	var text strings.Builder
	for _, g := range groups {
		text.WriteString(strings.Join(append([]string{g.Name, g.Comment}, g.Members...), "\t") + "\n")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make folder of local groups: %w", err)
	}
	return atomicfile.Write(file, []byte(text.String()), 0o644)
}
