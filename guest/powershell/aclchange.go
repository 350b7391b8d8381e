package powershell

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// rights of files beside those of the rules' names
// (https://learn.microsoft.com/dotnet/api/system.security.accesscontrol.filesystemrights).
const (
	rightSynchronize = 0x100000
	rightDeleteChild = 0x40
	rightsAll        = 0x1f01ff
)

const accessSpace = "System.Security.AccessControl."

// aclClass are the descriptors that Get-Acl shows
// (https://learn.microsoft.com/dotnet/api/system.security.accesscontrol.filesecurity).
func aclClass() *class {
	return &class{name: accessSpace + "FileSecurity", methods: []routine{
		ofRule("AddAccessRule", (*acl).addRule),
		ofRule("SetAccessRule", func(a *acl, r rule) bool {
			a.purge(func(old rule) bool { return old.sid == r.sid && old.deny == r.deny })
			return a.addRule(r)
		}),
		ofRule("ResetAccessRule", func(a *acl, r rule) bool {
			a.purge(func(old rule) bool { return old.sid == r.sid })
			return a.addRule(r)
		}),
		ofRule("RemoveAccessRule", (*acl).removeRule),
		ofRule("RemoveAccessRuleAll", func(a *acl, r rule) bool {
			return a.purge(func(old rule) bool { return old.sid == r.sid && old.deny == r.deny })
		}),
		ofRule("RemoveAccessRuleSpecific", func(a *acl, r rule) bool {
			return a.purge(func(old rule) bool { return old.same(r) && old.rights == r.rights })
		}),
		ofACL("PurgeAccessRules", 1, 1, func(a *acl, c *dotCall) (value, error) {
			sid, _, err := c.f.account(c.text(0))
			a.purge(func(old rule) bool { return old.sid == sid })
			return nil, err
		}),
		ofACL("SetAccessRuleProtection", 2, 2, func(a *acl, c *dotCall) (value, error) {
			a.protect(truth(c.arg(0)), truth(c.arg(1)))
			return nil, nil
		}),
		ofACL("SetOwner", 1, 1, func(a *acl, c *dotCall) (value, error) {
			sid, name, err := c.f.account(c.text(0))
			if err == nil {
				a.ownerSID, a.owner = sid, name
			}
			return nil, err
		}),
		ofACL("SetSecurityDescriptorSddlForm", 1, 1, func(a *acl, c *dotCall) (value, error) {
			return nil, a.become(c.f, c.text(0))
		}),
		ofACL("GetAccessRules", 3, 3, func(a *acl, c *dotCall) (value, error) {
			out := []value{}
			for _, r := range a.rules {
				if own := r.flags&aceInherited == 0; own && truth(c.arg(0)) || !own && truth(c.arg(1)) {
					out = append(out, r.object())
				}
			}
			return out, nil
		}),
	}}
}

// ofACL is a method of descriptors; what it changes is seen in the object.
func ofACL(name string, least, most int, do func(a *acl, c *dotCall) (value, error)) routine {
	return routine{name: name, least: least, most: most, do: func(c *dotCall) (value, error) {
		o, _ := c.on.(*object) // what aclClass is for, which object has made
		a, ok := o.own.(*acl)
		if !ok {
			return nil, errors.ErrUnsupported
		}
		v, err := do(a, c)
		if err != nil {
			return nil, err
		}
		// The file's own entries before the others, and those that deny first.
		slices.SortStableFunc(a.rules, func(a, b rule) int { return a.rank() - b.rank() })
		a.sddl = a.text()
		if parsed, err := c.f.in.session.system().descriptor(a.sddl); err == nil {
			a.sddl = parsed.sddl // with the short names of accounts
		}
		a.fill(o)
		return v, nil
	}}
}

// ofRule is a method of descriptors that takes a rule. Those whose names begin with Remove say what they did.
func ofRule(name string, do func(a *acl, r rule) bool) routine {
	return ofACL(name, 1, 1, func(a *acl, c *dotCall) (value, error) {
		o, _ := c.arg(0).(*object)
		var r rule
		ok := o != nil
		if ok {
			r, ok = o.own.(rule)
		}
		if !ok {
			return nil, raise("System.Management.Automation.MethodException", fmt.Sprintf(
				`Cannot convert argument "rule", with value: "%s", for "%s" to type "%sFileSystemAccessRule".`, c.text(0), name,
				accessSpace))
		}
		if r.sid == "" {
			var err error
			if r.sid, r.who, err = c.f.account(r.who); err != nil {
				return nil, err
			}
		}
		r.flags &^= aceInherited
		done := do(a, r)
		if name == "RemoveAccessRule" {
			return done, nil
		}
		return nil, nil
	})
}

// account finds an account by its name or SID.
func (f *frame) account(name string) (sid, full string, err error) {
	if sid, full, err = f.in.session.system().account(name); err != nil {
		return "", "", raise("System.Security.Principal.IdentityNotMappedException",
			"Some or all identity references could not be translated.")
	}
	return sid, full, nil
}

func (r rule) same(other rule) bool {
	return r.sid == other.sid && r.deny == other.deny && r.flags == other.flags
}

func (r rule) rank() int {
	switch {
	case r.flags&aceInherited != 0:
		return 2
	case r.deny:
		return 0
	}
	return 1
}

// addRule adds rights to the file's own entry of the same kind, or a new entry.
func (a *acl) addRule(r rule) bool {
	for i, old := range a.rules {
		if old.same(r) {
			a.rules[i].rights |= r.rights
			return true
		}
	}
	a.rules = append(a.rules, r)
	return true
}

// removeRule takes rights away from the file's own entries. An entry with just these rights goes whole; otherwise the
// right to synchronize stays, which every rule that allows has
// (https://learn.microsoft.com/dotnet/api/system.security.accesscontrol.filesystemsecurity.removeaccessrule).
func (a *acl) removeRule(r rule) bool {
	whole := slices.ContainsFunc(a.rules, func(old rule) bool { return old.same(r) && old.rights == r.rights })
	if !whole && !r.deny && r.rights != rightsAll {
		r.rights &^= rightSynchronize
	}
	for i, old := range a.rules {
		if old.same(r) {
			a.rules[i].rights &^= r.rights
		}
	}
	a.purge(func(old rule) bool { return old.same(r) && old.rights == 0 })
	return true
}

// purge removes the file's own entries that are meant.
func (a *acl) purge(meant func(rule) bool) bool {
	before := len(a.rules)
	a.rules = slices.DeleteFunc(a.rules, func(r rule) bool { return r.flags&aceInherited == 0 && meant(r) })
	return len(a.rules) < before
}

// protect keeps a file from inheriting. What it has inherited becomes its own, or goes.
func (a *acl) protect(protected, keep bool) {
	a.protected = protected
	switch {
	case protected && keep:
		for i := range a.rules {
			a.rules[i].flags &^= aceInherited
		}
	case protected:
		a.rules = slices.DeleteFunc(a.rules, func(r rule) bool { return r.flags&aceInherited != 0 })
	}
}

// become takes what a text says of owner and rules.
func (a *acl) become(f *frame, sddl string) error {
	parsed, err := f.in.session.system().descriptor(sddl)
	if err != nil {
		return raise("System.ArgumentException",
			"The SDDL form of a security descriptor object is invalid.\r\nParameter name: sddlForm")
	}
	if parsed.ownerSID != "" {
		a.owner, a.ownerSID = parsed.owner, parsed.ownerSID
	}
	a.rules, a.protected = parsed.rules, parsed.protected
	return nil
}

// ruleClass are rules
// (https://learn.microsoft.com/dotnet/api/system.security.accesscontrol.filesystemaccessrule).
func ruleClass() *class {
	return &class{
		name: accessSpace + "FileSystemAccessRule",
		make: &routine{least: 3, most: 5, do: func(c *dotCall) (value, error) {
			if len(c.args) == 4 {
				return nil, thrown("FileSystemAccessRule with 4 arguments is not part of Mullion's PowerShell.")
			}
			names := []string{"FileSystemRights", "AccessControlType"}
			if len(c.args) == 5 {
				names = []string{"FileSystemRights", "InheritanceFlags", "PropagationFlags", "AccessControlType"}
			}
			numbers := map[string]int64{}
			for i, name := range names {
				e, ok := sumOf(enumOf(accessSpace+name), c.arg(i+1))
				if !ok {
					return nil, raise("System.Management.Automation.MethodException", fmt.Sprintf(
						`Cannot convert argument "%d", with value: "%s", for "FileSystemAccessRule" to type "%s%s".`, i+1,
						c.text(i+1), accessSpace, name))
				}
				numbers[name] = e.n
			}
			rights := uint32(numbers["FileSystemRights"]) // 32 bits
			r := rule{who: c.text(0), rights: rights, deny: numbers["AccessControlType"] == 1}
			switch {
			case !r.deny:
				r.rights |= rightSynchronize
			case r.rights != rightsAll && r.rights != rightsAll&^rightDeleteChild:
				r.rights &^= rightSynchronize
			}
			for bit, on := range map[uint8]bool{
				aceContainerInherit: numbers["InheritanceFlags"]&1 != 0,
				aceObjectInherit:    numbers["InheritanceFlags"]&2 != 0,
				aceNoPropagate:      numbers["PropagationFlags"]&1 != 0,
				aceInheritOnly:      numbers["PropagationFlags"]&2 != 0,
			} {
				if on {
					r.flags |= bit
				}
			}
			return r.object(), nil
		}},
	}
}

// sumOf is the value of an enumeration that names with commas, a number or a value mean.
func sumOf(t *enumType, v value) (enum, bool) {
	var all int64
	for _, one := range t.values {
		all |= one.n
	}
	if n, err := integer(v); err == nil && t.flags {
		return enum{t, n}, n&^all == 0
	}
	sum := enum{t, 0}
	for item := range each(v) {
		names := []value{item}
		if s, ok := item.(string); ok && t.flags {
			names = nil
			for name := range strings.SplitSeq(s, ",") {
				names = append(names, strings.TrimSpace(name))
			}
		}
		for _, name := range names {
			e, ok := t.parsed(name)
			if e.of != nil && e.of.name == t.name && t.flags && e.n&^all == 0 {
				ok = ok || name != "" && isEnum(name)
			}
			if !ok {
				return enum{}, false
			}
			sum.n |= e.n
		}
	}
	return sum, v != nil
}

func isEnum(v value) bool {
	_, is := v.(enum)
	return is
}

// accountClass names an account, by its name or its SID.
func accountClass(name string) *class {
	return &class{
		name: "System.Security.Principal." + name,
		make: &routine{least: 1, most: 2, do: func(c *dotCall) (value, error) {
			text := c.text(0)
			if len(c.args) == 2 {
				text += `\` + c.text(1)
			}
			return &instance{accountClass(name), text}, nil
		}},
		props: []field{{name: "Value", get: func(_ *frame, of value) (value, error) { return own[string](of), nil }}},
		text:  func(v any) string { s, _ := v.(string); return s },
		methods: []routine{{name: "Translate", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			sid, full, err := c.f.account(own[string](c.on))
			if err != nil {
				return nil, err
			}
			if strings.HasSuffix(lower(c.text(0)), "securityidentifier") {
				return &instance{accountClass("SecurityIdentifier"), sid}, nil
			}
			return &instance{accountClass("NTAccount"), full}, nil
		}}},
	}
}

// setACL is Set-Acl: the descriptor of -AclObject or of the pipeline for each path, or for the file that it is of.
func setACL(c *call) error {
	descriptors := c.input
	if v, byName := c.values["aclobject"]; byName {
		descriptors = []value{v}
	} else {
		c.input = nil
	}
	if len(descriptors) == 0 {
		return raise(bindingException,
			"Cannot process command because of one or more missing mandatory parameters: AclObject.")
	}
	for _, v := range descriptors {
		o, ok := v.(*object)
		var a *acl
		if ok {
			a, ok = o.own.(*acl)
		}
		if !ok {
			return raise(bindingException, "Cannot bind parameter 'AclObject': it is no descriptor of Get-Acl.")
		}
		set := func(t target) error {
			if _, err := os.Stat(t.full); err != nil {
				return err
			}
			return c.f.in.session.system().setACL(t.full, *a)
		}
		err := c.forEach(set)
		if c.values[pathName] == nil && c.values[literalName] == nil && len(c.input) == 0 {
			err = set(target{name: a.path, full: a.path})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
