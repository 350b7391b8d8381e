package system

import "mullion.dev/mullion/guest/filesec"

// List returns a descriptor as it is stored.
func (a ACL) List() filesec.List {
	l := filesec.List{Owner: a.OwnerSID, Protected: a.Protected}
	for _, r := range a.Rules {
		l.Entries = append(l.Entries, filesec.Entry{
			Deny:  r.Deny,
			Flags: r.Flags,
			Mask:  r.Rights,
			SID:   r.SID,
		})
	}
	return l
}

// writeACL gives a file a descriptor's owner, if it is another, and its rules.
func writeACL(path string, a ACL) error {
	old, err := filesec.Of(path)
	if err != nil {
		return err
	}

	l := a.List()
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
