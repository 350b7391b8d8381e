package filesec

import (
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Of reads a file's list.
func Of(path string) (List, error) {
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return List{}, err
	}
	control, _, err := sd.Control()
	if err != nil {
		return List{}, err
	}

	found := List{Protected: control&windows.SE_DACL_PROTECTED != 0}
	if owner, _, err := sd.Owner(); err == nil && owner != nil {
		found.Owner = owner.String()
	}
	list, _, err := sd.DACL()
	if err != nil || list == nil { // no list: everyone may do everything
		found.Entries = []Entry{{Mask: FullAccess, SID: "S-1-1-0"}}
		return found, nil
	}

	for i := range uint32(list.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, i, &ace); err != nil {
			return List{}, err
		}
		if ace.Header.AceType > windows.ACCESS_DENIED_ACE_TYPE { // others have their SID at another place
			continue
		}

		found.Entries = append(found.Entries, Entry{
			Deny:  ace.Header.AceType == windows.ACCESS_DENIED_ACE_TYPE,
			Flags: ace.Header.AceFlags,
			Mask:  uint32(ace.Mask),
			SID:   (*windows.SID)(unsafe.Pointer(&ace.SidStart)).String(),
		})
	}

	return found, nil
}

// Set writes a file's list as it is; nothing is handed on to what lies below.
func Set(path string, l List) error {
	sd, err := windows.SecurityDescriptorFromString(l.Text())
	if err != nil {
		return fmt.Errorf("read %q: %w", l.Text(), err)
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}

	which := uintptr(windows.DACL_SECURITY_INFORMATION)
	if l.Protected {
		which |= windows.PROTECTED_DACL_SECURITY_INFORMATION
	}
	ok, _, err := windows.NewLazySystemDLL("advapi32.dll").NewProc("SetFileSecurityW").Call(
		uintptr(unsafe.Pointer(name)), which, uintptr(unsafe.Pointer(sd)))
	if ok == 0 {
		return err
	}

	return nil
}

// SetOwner makes an account a file's owner.
func SetOwner(path, sid string) error {
	owner, err := windows.StringToSid(sid)
	if err != nil {
		return err
	}
	return windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION, owner,
		nil, nil, nil)
}

// Account returns the name of the account with a SID; the SID, if it has none.
func Account(sid string) string {
	s, err := windows.StringToSid(sid)
	if err != nil {
		return sid
	}
	if name, is := containerAccounts()[s.String()]; is {
		return name
	}

	name, domain, _, err := s.LookupAccount("")
	switch {
	case err != nil || name == "":
		return sid
	case domain == "":
		return name
	}

	return domain + `\` + name
}

// Lookup returns the SID of an account, which is named, or a SID after a *.
func Lookup(account string) (string, error) {
	if text, ok := strings.CutPrefix(account, "*"); ok {
		sid, err := windows.StringToSid(text)
		if err != nil {
			return "", windows.ERROR_NONE_MAPPED
		}
		return sid.String(), nil
	}

	if sid := containerAccount(account); sid != "" {
		return sid, nil
	}
	sid, _, _, err := windows.LookupSID("", account)
	if err != nil {
		return "", err
	}
	return sid.String(), nil
}
