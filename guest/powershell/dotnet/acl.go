package dotnet

import (
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

// ACLObject returns a file's descriptor as an object of its own.
func ACLObject(a system.ACL, path string) *object.Object {
	a.Path = path
	a.Rules = slices.Clone(a.Rules)
	o := object.New("acl")
	o.Own, o.Class = &a, aclClass
	fill(&a, o)
	return o
}

// fill sets the object's properties to what the descriptor is.
func fill(a *system.ACL, o *object.Object) {
	rules := []object.Value{}
	var lines []string
	for _, r := range a.Rules {
		one := ruleObject(r)
		rules = append(rules, one)
		lines = append(lines, strings.Join([]string{
			r.Who, object.Text(one.Props["accesscontroltype"]), "",
			object.Text(one.Props["filesystemrights"]),
		}, " "))
	}

	o.Names = nil
	o.Set("Path", `Microsoft.PowerShell.Core\FileSystem::`+a.Path).
		Set("PSChildName", filepath.Base(a.Path)).Set("DirectoryName", filepath.Dir(a.Path)).
		Set("Owner", a.Owner).Set("Group", a.Group).
		Set("Access", rules).Set("Sddl", a.SDDL).
		Set("AccessToString", strings.Join(lines, "\n")).Set("AreAccessRulesProtected", a.Protected)
	o.Props["audit"] = nil
	o.View = &object.View{
		Names: []string{"Path", "Owner", "Group", "Access", "Audit", "Sddl"},
		Texts: map[string][]string{"Access": lines},
	}
}

func ruleObject(r system.Rule) *object.Object {
	inheritance, propagation := int64(0), int64(0)
	for _, f := range []struct {
		flag uint8
		to   *int64
		n    int64
	}{
		{system.AceContainerInherit, &inheritance, 1},
		{system.AceObjectInherit, &inheritance, 2},
		{system.AceNoPropagate, &propagation, 1},
		{system.AceInheritOnly, &propagation, 2},
	} {
		if r.Flags&f.flag != 0 {
			*f.to |= f.n
		}
	}

	deny := int64(0)
	if r.Deny {
		deny = 1
	}

	of := func(name string, n int64) object.Enum {
		return object.Enum{Of: object.EnumOf("Security.AccessControl." + name), N: n}
	}

	made := object.New("rule")
	made.Own, made.Class = r, ruleClass

	return made.
		Set("FileSystemRights", of("FileSystemRights", int64(int32(r.Rights)))). // .NET's enumerations are signed
		Set("AccessControlType", of("AccessControlType", deny)).
		Set("IdentityReference", object.New("identity").Set("Value", r.Who)).
		Set("IsInherited", r.Flags&system.AceInherited != 0).
		Set("InheritanceFlags", of("InheritanceFlags", inheritance)).
		Set("PropagationFlags", of("PropagationFlags", propagation))
}

// text returns a descriptor in the language of security descriptors.
func text(a system.ACL) string { return a.List().Text() }
