package identity

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
)

// ownership holds takeown's arguments
// (https://learn.microsoft.com/windows-server/administration/windows-commands/takeown).
type ownership struct {
	path          string
	below, admins bool
	sid, name     string
}

// Takeown makes the user, or with /A the administrators, the owner of files.
func Takeown(e program.Env, sys System, args []string) int {
	o, code := parseTakeown(e, args)
	if code >= 0 {
		return code
	}
	who, err := sys.Identity()
	if err != nil {
		e.Complain("ERROR: %v", err)
		return 1
	}

	o.sid, o.name = who.SID, strings.ToUpper(who.User)
	if o.admins {
		o.sid, o.name = "S-1-5-32-544", ""
	}
	if _, err := os.Stat(o.path); err != nil {
		e.Complain("ERROR: File or Directory not found.")
		return 1
	}

	return o.take(e, sys, o.path)
}

func parseTakeown(e program.Env, args []string) (o ownership, code int) {
	for i := 0; i < len(args); i++ {
		name, _ := program.Option(args[i])
		switch name {
		case "?":
			e.Print("")
			e.Print("TAKEOWN /F filename [/A] [/R [/D prompt]]")
			return o, 0

		case "a":
			o.admins = true
		case "r":
			o.below = true
		case "f", "d":
			if i++; i == len(args) {
				e.Invalid("takeown", "Value expected for '"+args[i-1]+"'.")
				return o, 1
			}
			if name == "f" {
				o.path = args[i]
			}

		default:
			e.Unknown("takeown", args[i])
			return o, 1
		}
	}

	if o.path == "" {
		e.Invalid("takeown", "Mandatory option '/f' is missing.")
		return o, 1
	}
	return o, -1
}

// take takes a file, and with /R what lies below.
func (o ownership) take(e program.Env, sys System, path string) int {
	if err := sys.SetOwner(path, o.sid); err != nil {
		e.Complain("ERROR: Access is denied. (%v)", err)
		return 1
	}
	to := "user \"" + o.name + "\""
	if o.admins {
		to = "the administrators group"
	}

	e.Print("")
	e.Print("SUCCESS: The file (or folder): \"%s\" now owned by %s.", path, to)
	info, err := os.Lstat(path)
	if err != nil || !o.below || !info.IsDir() {
		return 0
	}

	for _, entry := range wildcard.Entries(path) {
		if entry.Type()&fs.ModeSymlink != 0 {
			continue
		}
		if code := o.take(e, sys, filepath.Join(path, entry.Name())); code != 0 {
			return code
		}
	}

	return 0
}
