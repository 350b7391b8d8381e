package dotnet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/system"
)

// rights of files beside those of the rules' names
// (https://learn.microsoft.com/dotnet/api/system.security.accesscontrol.filesystemrights).
const (
	rightSynchronize = 0x100000
	rightDeleteChild = 0x40
	rightsAll        = 0x1f01ff
)

const accessSpace = "System.Security.AccessControl."

// aclClass returns the descriptors that Get-Acl shows
// (https://learn.microsoft.com/dotnet/api/system.security.accesscontrol.filesecurity).
func aclClass() *object.Class {
	return &object.Class{
		Name: accessSpace + "FileSecurity",
		Methods: []object.Method{
			ofRule("AddAccessRule", addRule),
			ofRule("SetAccessRule", func(a *system.ACL, r system.Rule) bool {
				purge(a, func(old system.Rule) bool { return old.SID == r.SID && old.Deny == r.Deny })
				return addRule(a, r)
			}),
			ofRule("ResetAccessRule", func(a *system.ACL, r system.Rule) bool {
				purge(a, func(old system.Rule) bool { return old.SID == r.SID })
				return addRule(a, r)
			}),
			ofRule("RemoveAccessRule", removeRule),
			ofRule("RemoveAccessRuleAll", func(a *system.ACL, r system.Rule) bool {
				return purge(a, func(old system.Rule) bool { return old.SID == r.SID && old.Deny == r.Deny })
			}),
			ofRule("RemoveAccessRuleSpecific", func(a *system.ACL, r system.Rule) bool {
				return purge(a, func(old system.Rule) bool { return same(old, r) && old.Rights == r.Rights })
			}),
			ofACL("PurgeAccessRules", 1, 1, func(a *system.ACL, c *object.Call) (object.Value, error) {
				sid, _, err := accountOf(c.State, c.Text(0))
				purge(a, func(old system.Rule) bool { return old.SID == sid })
				return nil, err
			}),
			ofACL("SetAccessRuleProtection", 2, 2, func(a *system.ACL, c *object.Call) (object.Value, error) {
				protect(a, object.Truth(c.Arg(0)), object.Truth(c.Arg(1)))
				return nil, nil
			}),
			ofACL("SetOwner", 1, 1, func(a *system.ACL, c *object.Call) (object.Value, error) {
				sid, name, err := accountOf(c.State, c.Text(0))
				if err == nil {
					a.OwnerSID, a.Owner = sid, name
				}
				return nil, err
			}),
			ofACL("SetSecurityDescriptorSddlForm", 1, 1, func(a *system.ACL, c *object.Call) (object.Value, error) {
				return nil, setSDDL(a, c.State, c.Text(0))
			}),
			ofACL("GetAccessRules", 3, 3, func(a *system.ACL, c *object.Call) (object.Value, error) {
				out := []object.Value{}
				for _, r := range a.Rules {
					own := r.Flags&system.AceInherited == 0
					if (own && object.Truth(c.Arg(0))) || (!own && object.Truth(c.Arg(1))) {
						out = append(out, ruleObject(r))
					}
				}
				return out, nil
			}),
		},
	}
}

// ofACL returns a method of descriptors; what it changes is seen in the object.
func ofACL(name string, least, most int, do func(a *system.ACL, c *object.Call) (object.Value, error)) object.Method {
	return object.Method{
		Name:  name,
		Least: least,
		Most:  most,
		Do: func(c *object.Call) (object.Value, error) {
			o, _ := c.On.(*object.Object) // what aclClass is for, which object has made
			a, ok := o.Own.(*system.ACL)
			if !ok {
				return nil, errors.ErrUnsupported
			}

			v, err := do(a, c)
			if err != nil {
				return nil, err
			}

			// The file's own entries before the others, and those that deny first.
			slices.SortStableFunc(a.Rules, func(a, b system.Rule) int { return rank(a) - rank(b) })
			a.SDDL = text(*a)
			if parsed, err := c.State.System.Descriptor(a.SDDL); err == nil {
				a.SDDL = parsed.SDDL // with the short names of accounts
			}

			fill(a, o)
			return v, nil
		},
	}
}

// ofRule returns a method of descriptors that takes a rule. Those whose names begin with Remove say what they did.
func ofRule(name string, do func(a *system.ACL, r system.Rule) bool) object.Method {
	return ofACL(name, 1, 1, func(a *system.ACL, c *object.Call) (object.Value, error) {
		o, _ := c.Arg(0).(*object.Object)
		var r system.Rule
		ok := o != nil
		if ok {
			r, ok = o.Own.(system.Rule)
		}

		if !ok {
			return nil, object.Raise("System.Management.Automation.MethodException", fmt.Sprintf(
				`Cannot convert argument "rule", with value: "%s", for "%s" to type "%sFileSystemAccessRule".`,
				c.Text(0), name,
				accessSpace))
		}

		if r.SID == "" {
			var err error
			if r.SID, r.Who, err = accountOf(c.State, r.Who); err != nil {
				return nil, err
			}
		}

		r.Flags &^= system.AceInherited
		done := do(a, r)
		if name == "RemoveAccessRule" {
			return done, nil
		}

		return nil, nil
	})
}

// accountOf finds an account by its name or SID.
func accountOf(s *session.State, name string) (sid, full string, err error) {
	if sid, full, err = s.System.Account(name); err != nil {
		return "", "", object.Raise("System.Security.Principal.IdentityNotMappedException",
			"Some or all identity references could not be translated.")
	}
	return sid, full, nil
}

func same(r system.Rule, other system.Rule) bool {
	return r.SID == other.SID && r.Deny == other.Deny && r.Flags == other.Flags
}

func rank(r system.Rule) int {
	switch {
	case r.Flags&system.AceInherited != 0:
		return 2
	case r.Deny:
		return 0
	}
	return 1
}

// addRule adds rights to the file's own entry of the same kind, or a new entry.
func addRule(a *system.ACL, r system.Rule) bool {
	for i, old := range a.Rules {
		if same(old, r) {
			a.Rules[i].Rights |= r.Rights
			return true
		}
	}
	a.Rules = append(a.Rules, r)
	return true
}

// removeRule takes rights away from the file's own entries. An entry with just these rights goes whole; otherwise the
// right to synchronize stays, which every rule that allows has
// (https://learn.microsoft.com/dotnet/api/system.security.accesscontrol.filesystemsecurity.removeaccessrule).
func removeRule(a *system.ACL, r system.Rule) bool {
	whole := slices.ContainsFunc(a.Rules, func(old system.Rule) bool { return same(old, r) && old.Rights == r.Rights })
	if !whole && !r.Deny && r.Rights != rightsAll {
		r.Rights &^= rightSynchronize
	}
	for i, old := range a.Rules {
		if same(old, r) {
			a.Rules[i].Rights &^= r.Rights
		}
	}
	purge(a, func(old system.Rule) bool { return same(old, r) && old.Rights == 0 })
	return true
}

// purge removes the file's own entries that are meant.
func purge(a *system.ACL, meant func(system.Rule) bool) bool {
	before := len(a.Rules)
	a.Rules = slices.DeleteFunc(a.Rules, func(r system.Rule) bool {
		return r.Flags&system.AceInherited == 0 && meant(r)
	})
	return len(a.Rules) < before
}

// protect keeps a file from inheriting. What it has inherited becomes its own, or goes.
func protect(a *system.ACL, protected, keep bool) {
	a.Protected = protected
	switch {
	case protected && keep:
		for i := range a.Rules {
			a.Rules[i].Flags &^= system.AceInherited
		}
	case protected:
		a.Rules = slices.DeleteFunc(a.Rules, func(r system.Rule) bool { return r.Flags&system.AceInherited != 0 })
	}
}

// setSDDL takes what a text says of owner and rules.
func setSDDL(a *system.ACL, s *session.State, sddl string) error {
	parsed, err := s.System.Descriptor(sddl)
	if err != nil {
		return object.Raise("System.ArgumentException",
			"The SDDL form of a security descriptor object is invalid.\r\nParameter name: sddlForm")
	}
	if parsed.OwnerSID != "" {
		a.Owner, a.OwnerSID = parsed.Owner, parsed.OwnerSID
	}
	a.Rules, a.Protected = parsed.Rules, parsed.Protected
	return nil
}

// ruleClass returns the class FileSystemAccessRule
// (https://learn.microsoft.com/dotnet/api/system.security.accesscontrol.filesystemaccessrule).
func ruleClass() *object.Class {
	return &object.Class{
		Name: accessSpace + "FileSystemAccessRule",
		Make: &object.Method{
			Least: 3,
			Most:  5,
			Do: func(c *object.Call) (object.Value, error) {
				if len(c.Args) == 4 {
					return nil, object.Thrown("FileSystemAccessRule with 4 arguments is not part of Mullion's PowerShell.")
				}

				names := []string{"FileSystemRights", "AccessControlType"}
				if len(c.Args) == 5 {
					names = []string{"FileSystemRights", "InheritanceFlags", "PropagationFlags", "AccessControlType"}
				}

				numbers := map[string]int64{}
				for i, name := range names {
					e, ok := sumOf(object.EnumOf(accessSpace+name), c.Arg(i+1))
					if !ok {
						return nil, object.Raise("System.Management.Automation.MethodException", fmt.Sprintf(
							`Cannot convert argument "%d", with value: "%s", for "FileSystemAccessRule" to type "%s%s".`, i+1,
							c.Text(i+1), accessSpace, name))
					}
					numbers[name] = e.N
				}

				rights := uint32(numbers["FileSystemRights"]) // 32 bits
				r := system.Rule{
					Who:    c.Text(0),
					Rights: rights,
					Deny:   numbers["AccessControlType"] == 1,
				}

				switch {
				case !r.Deny:
					r.Rights |= rightSynchronize
				case r.Rights != rightsAll && r.Rights != rightsAll&^rightDeleteChild:
					r.Rights &^= rightSynchronize
				}

				for bit, on := range map[uint8]bool{
					system.AceContainerInherit: numbers["InheritanceFlags"]&1 != 0,
					system.AceObjectInherit:    numbers["InheritanceFlags"]&2 != 0,
					system.AceNoPropagate:      numbers["PropagationFlags"]&1 != 0,
					system.AceInheritOnly:      numbers["PropagationFlags"]&2 != 0,
				} {
					if on {
						r.Flags |= bit
					}
				}

				return ruleObject(r), nil
			},
		},
	}
}

// sumOf returns the value of an enumeration that names with commas, a number or a value mean.
func sumOf(t *object.EnumType, v object.Value) (object.Enum, bool) {
	var all int64
	for _, one := range t.Values {
		all |= one.N
	}

	if n, err := object.Integer(v); err == nil && t.Flags {
		return object.Enum{Of: t, N: n}, n&^all == 0
	}

	sum := object.Enum{Of: t, N: 0}
	for item := range object.Each(v) {
		for _, name := range enumNames(t, item) {
			e, ok := t.Parsed(name)
			if e.Of != nil && e.Of.Name == t.Name && t.Flags && e.N&^all == 0 {
				ok = ok || (name != "" && isEnum(name))
			}
			if !ok {
				return object.Enum{}, false
			}
			sum.N |= e.N
		}
	}

	return sum, v != nil
}

// enumNames returns the names with commas between them, or else the value itself.
func enumNames(t *object.EnumType, v object.Value) []object.Value {
	s, ok := v.(string)
	if !ok || !t.Flags {
		return []object.Value{v}
	}

	var names []object.Value
	for name := range strings.SplitSeq(s, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

func isEnum(v object.Value) bool {
	_, is := v.(object.Enum)
	return is
}

// accountClass names an account, by its name or its SID.
func accountClass(name string) *object.Class {
	return &object.Class{
		Name: "System.Security.Principal." + name,
		Make: &object.Method{
			Least: 1,
			Most:  2,
			Do: func(c *object.Call) (object.Value, error) {
				text := c.Text(0)
				if len(c.Args) == 2 {
					text += `\` + c.Text(1)
				}
				return &object.Instance{Of: accountClass(name), V: text}, nil
			},
		},
		Props: []object.Field{{
			Name: "Value",
			Get: func(_ *session.State, of object.Value) (object.Value, error) {
				return object.Own[string](of), nil
			},
		}},
		Text: func(v any) string { s, _ := v.(string); return s },
		Methods: []object.Method{{
			Name:  "Translate",
			Least: 1,
			Most:  1,
			Do: func(c *object.Call) (object.Value, error) {
				sid, full, err := accountOf(c.State, object.Own[string](c.On))
				if err != nil {
					return nil, err
				}
				if strings.HasSuffix(strings.ToLower(c.Text(0)), "securityidentifier") {
					return &object.Instance{Of: accountClass("SecurityIdentifier"), V: sid}, nil
				}
				return &object.Instance{Of: accountClass("NTAccount"), V: full}, nil
			},
		}},
	}
}
