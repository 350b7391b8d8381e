package powershell

import (
	"mullion.dev/mullion/guest/filesec"
)

// list is a descriptor as it is stored.
func (a acl) list() filesec.List {
	l := filesec.List{Owner: a.ownerSID, Protected: a.protected}
	for _, r := range a.rules {
		l.Entries = append(l.Entries, filesec.Entry{Deny: r.deny, Flags: r.flags, Mask: r.rights, SID: r.sid})
	}
	return l
}

// text is a descriptor in the language of security descriptors.
func (a acl) text() string { return a.list().Text() }

// writeACL gives a file a descriptor's owner, if it is another, and its rules.
func writeACL(path string, a acl) error {
	old, err := filesec.Of(path)
	if err != nil {
		return err
	}
	l := a.list()
	if l.Owner != "" && l.Owner != old.Owner {
		if err := filesec.SetOwner(path, l.Owner); err != nil {
			return err
		}
	}
	if l.Owner == "" {
		l.Owner = old.Owner
	}
	return filesec.Replace(filesec.System{}, path, l)
}

// findAccount finds an account by its name or SID.
func findAccount(name string) (sid, full string, err error) {
	sid, err = filesec.Lookup(name)
	if err != nil {
		sid, err = filesec.Lookup("*" + name)
	}
	return sid, filesec.Account(sid), err
}
