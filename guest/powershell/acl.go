package powershell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// acl is the security descriptor of a file, as Get-Acl shows it.
type acl struct {
	owner, group, sddl string
	protected          bool
	rules              []rule

	ownerSID, path string
}

// rule is an entry of an access list.
type rule struct {
	who    string
	sid    string // "": it is not looked for yet
	rights uint32
	deny   bool
	flags  uint8 // ACE flags
}

// The flags of an entry (https://learn.microsoft.com/en-us/windows/win32/api/winnt/ns-winnt-ace_header).
const (
	aceObjectInherit    = 1
	aceContainerInherit = 2
	aceNoPropagate      = 4
	aceInheritOnly      = 8
	aceInherited        = 0x10
)

// aceDenied is the type of an entry that denies.
const aceDenied = 1

// isRule reports whether an entry of a type is a FileSystemAccessRule. Entries with conditions are not.
func isRule(kind uint8) bool { return kind <= aceDenied }

// entry makes a rule from an entry of an access list.
func entry(kind, flags uint8, rights uint32, who string) rule {
	return rule{who: who, rights: rights, deny: kind == aceDenied, flags: flags}
}

// accountName is the text of an account; an account without a name is shown as prefix and its SID.
func accountName(domain, name, prefix, sid string) string {
	switch {
	case name == "":
		return prefix + sid
	case domain == "":
		return name
	}
	return domain + `\` + name
}

func getACL(c *call) error {
	of := func(t target) error {
		if _, err := os.Stat(t.full); err != nil {
			return err
		}
		a, err := c.f.in.session.system().acl(t.full)
		if err != nil {
			return err
		}
		return c.show(a.object(t.full))
	}
	if len(c.values) == 0 && !c.piped {
		return of(target{name: c.f.in.dir, full: c.f.in.dir})
	}
	return c.forEach(of)
}

// object is a file's descriptor as an object of its own.
func (a acl) object(path string) *object {
	a.path = path
	a.rules = slices.Clone(a.rules)
	o := newObject("acl")
	o.own = &a
	a.fill(o)
	return o
}

// fill sets the object's properties to what the descriptor is.
func (a *acl) fill(o *object) {
	rules := []value{}
	var lines []string
	for _, r := range a.rules {
		one := r.object()
		rules = append(rules, one)
		lines = append(lines, strings.Join([]string{
			r.who, text(one.props["accesscontroltype"]), "",
			text(one.props["filesystemrights"]),
		}, " "))
	}
	o.names = nil
	o.set("Path", `Microsoft.PowerShell.Core\FileSystem::`+a.path).set("PSChildName",
		filepath.Base(a.path)).set("DirectoryName", filepath.Dir(a.path)).
		set("Owner", a.owner).set("Group", a.group).
		set("Access", rules).set("Sddl", a.sddl).set("AccessToString",
		strings.Join(lines, "\n")).set("AreAccessRulesProtected", a.protected)
}

func (r rule) object() *object {
	inheritance, propagation := int64(0), int64(0)
	for _, f := range []struct {
		flag uint8
		to   *int64
		n    int64
	}{
		{aceContainerInherit, &inheritance, 1},
		{aceObjectInherit, &inheritance, 2},
		{aceNoPropagate, &propagation, 1},
		{aceInheritOnly, &propagation, 2},
	} {
		if r.flags&f.flag != 0 {
			*f.to |= f.n
		}
	}
	deny := int64(0)
	if r.deny {
		deny = 1
	}
	of := func(name string, n int64) enum { return enum{enumOf("Security.AccessControl." + name), n} }
	made := newObject("rule")
	made.own = r
	return made.
		set("FileSystemRights", of("FileSystemRights", int64(int32(r.rights)))). // .NET's enumerations are signed
		set("AccessControlType", of("AccessControlType", deny)).
		set("IdentityReference", newObject("identity").set("Value", r.who)).
		set("IsInherited", r.flags&aceInherited != 0).
		set("InheritanceFlags", of("InheritanceFlags", inheritance)).
		set("PropagationFlags", of("PropagationFlags", propagation))
}
