package system

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// readACL asks Windows for a file's security descriptor.
func readACL(path string) (ACL, error) {
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.GROUP_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return ACL{}, err
	}
	return aclOf(sd)
}

// parseACL reads a descriptor from its text.
func parseACL(sddl string) (ACL, error) {
	sd, err := windows.SecurityDescriptorFromString(sddl)
	if err != nil {
		return ACL{}, err
	}
	return aclOf(sd)
}

func aclOf(sd *windows.SECURITY_DESCRIPTOR) (ACL, error) {
	control, _, err := sd.Control()
	if err != nil {
		return ACL{}, err
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return ACL{}, err
	}

	group, _, err := sd.Group()
	if err != nil {
		return ACL{}, err
	}

	a := ACL{
		Owner:     account(owner, "O:"),
		Group:     account(group, "G:"),
		SDDL:      sd.String(),
		Protected: control&windows.SE_DACL_PROTECTED != 0,
	}
	if owner != nil {
		a.OwnerSID = owner.String()
	}

	list, _, err := sd.DACL()
	if err != nil || list == nil { // no list: everyone may do everything, and there are no rules
		return a, err
	}

	for i := range uint32(list.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, i, &ace); err != nil {
			return ACL{}, err
		}

		if isRule(ace.Header.AceType) { // other types have their SID at another place
			sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
			r := entry(ace.Header.AceType, ace.Header.AceFlags, uint32(ace.Mask), account(sid, ""))
			r.SID = sid.String()
			a.Rules = append(a.Rules, r)
		}
	}

	return a, nil
}

// account returns the name of the account with a SID.
func account(sid *windows.SID, prefix string) string {
	if sid == nil {
		return ""
	}
	name, domain, _, err := sid.LookupAccount("")
	if err != nil {
		name = ""
	}
	return accountName(domain, name, prefix, sid.String())
}
