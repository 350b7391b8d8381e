package engine

import (
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// profileName is the file of a profile of this host alone.
const profileName = "Microsoft.PowerShell_profile.ps1"

// profileFolder is the folder of a person's profiles, below their own: that of PowerShell 6 and later has another name.
func (in *Interpreter) profileFolder() string {
	if in.Core {
		return `\Documents\PowerShell\`
	}
	return `\Documents\WindowsPowerShell\`
}

// Profiles returns the files that a session runs at its beginning, as far as they are there: those of everybody before
// those of the person, and those of all hosts before those of this one
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_profiles).
func (in *Interpreter) Profiles() []string {
	places := []string{in.folder() + `\`}
	if home := in.Home(); home != "" {
		places = append(places, home+in.profileFolder())
	}

	var found []string
	for _, place := range places {
		for _, name := range []string{"profile.ps1", profileName} {
			path := strings.ReplaceAll(place+name, `\`, string(filepath.Separator))
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				found = append(found, path)
			}
		}
	}
	return found
}

// profileNamed returns the file of one of the four profiles by the name of $PROFILE's property for it; whether it is
// there is not asked.
func (in *Interpreter) profileNamed(property string) (path string, is bool) {
	all, mine := in.folder()+`\`, object.Text(in.home())+in.profileFolder()
	path, is = map[string]string{
		"allusersallhosts":       all + "profile.ps1",
		"alluserscurrenthost":    all + profileName,
		"currentuserallhosts":    mine + "profile.ps1",
		"currentusercurrenthost": mine + profileName,
	}[property]
	return path, is
}

// atPlace returns where a word leads that is a function of Windows PowerShell's own: cd.. and cd\, and the drives, such
// as C: (https://learn.microsoft.com/en-us/powershell/scripting/samples/working-with-files-and-folders).
func atPlace(word string) (to string, is bool) {
	switch lower := strings.ToLower(word); {
	case lower == "cd.." || lower == `cd\`:
		return lower[len("cd"):], true
	case len(lower) == 2 && lower[1] == ':' && lower[0] >= 'a' && lower[0] <= 'z':
		return word, true
	}
	return "", false
}

// placed returns a stage that changes the location in place of one that is a word for it.
func placed(s lang.Stage, to string) lang.Stage {
	s.Args = []lang.Argument{{X: &lang.Literal{V: object.Value(to)}}}
	return s
}
