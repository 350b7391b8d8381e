package volume

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// exitUnchecked is the code of chkdsk for a disk that it could not check
// (https://learn.microsoft.com/windows-server/administration/windows-commands/chkdsk).
const exitUnchecked = 3

// Chkdsk is chkdsk.exe. It names the file system and says, as Windows' does of a volume that it cannot open by its
// blocks, that nothing is checked: the drive is a folder here.
func Chkdsk(e program.Env, sys System, args []string) int {
	current, err := filepath.Abs("")
	if err != nil {
		e.Complain("%s", words(err))
		return exitUnchecked
	}
	_, root := drive(current)
	changes := false
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.ToLower(arg), ":")
		switch {
		case name == "/?":
			e.Print("Checks a disk and displays a status report.\r\n\r\nCHKDSK [volume[[path]filename]]] [/F] [/V] [/R] [/X] [/I] [/C]\r\n")
			return exitDone
		case slices.Contains([]string{"/f", "/r", "/x", "/b", "/spotfix", "/offlinescanandfix", "/sdcleanup"}, name):
			changes = true
		case slices.Contains([]string{"/v", "/i", "/c", "/l", "/scan", "/perf", "/forceofflinefix", "/freeorphanedchains", "/markclean"}, name):
		case strings.HasPrefix(arg, "/"):
			e.Print("Invalid parameter - %s", arg)
			return exitUnchecked
		case isDrive(arg):
			root = strings.ToUpper(arg[:2]) + `\`
		default:
			if _, err := os.Stat(arg); err != nil {
				e.Print("Cannot open volume for direct access.")
				return exitUnchecked
			}
		}
	}

	v, err := sys.Volume(root)
	switch {
	case err != nil:
		e.Print("The drive, the path, or the file name is not valid.")
		return exitUnchecked
	case changes:
		e.Print("Access Denied as you do not have sufficient privileges or\r\n" +
			"the disk may be locked by another process\r\n" +
			"You have to invoke this utility running in elevated mode\r\n" +
			"and make sure the disk is unlocked.")
		return exitUnchecked
	}

	e.Print("The type of the file system is %s.", v.FileSystem)
	e.Print("Cannot open volume for direct access.")
	return exitUnchecked
}
