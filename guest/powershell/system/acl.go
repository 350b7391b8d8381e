package system

// ACL is the security descriptor of a file, as Get-Acl shows it.
type ACL struct {
	Owner, Group, SDDL string
	Protected          bool
	Rules              []Rule

	OwnerSID, Path string
}

// Rule is an entry of an access list.
type Rule struct {
	Who    string
	SID    string // "": it is not looked for yet
	Rights uint32
	Deny   bool
	Flags  uint8 // ACE flags
}

// The flags of an entry (https://learn.microsoft.com/en-us/windows/win32/api/winnt/ns-winnt-ace_header).
const (
	AceObjectInherit    = 1
	AceContainerInherit = 2
	AceNoPropagate      = 4
	AceInheritOnly      = 8
	AceInherited        = 0x10
)

// aceDenied is the type of an entry that denies.
const aceDenied = 1

// isRule reports whether an entry of a type is a FileSystemAccessRule. Entries with conditions are not.
func isRule(kind uint8) bool { return kind <= aceDenied }

// entry makes a rule from an entry of an access list.
func entry(kind, flags uint8, rights uint32, who string) Rule {
	return Rule{
		Who:    who,
		Rights: rights,
		Deny:   kind == aceDenied,
		Flags:  flags,
	}
}

// accountName returns the text of an account; an account without a name is shown as prefix and its SID.
func accountName(domain, name, prefix, sid string) string {
	switch {
	case name == "":
		return prefix + sid
	case domain == "":
		return name
	}
	return domain + `\` + name
}
