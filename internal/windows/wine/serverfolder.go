package wine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const (
	// ServerFile in a prefix names the folder below /tmp that has the socket of Debian's wineserver.
	ServerFile = "wineserver"

	// serverFolder has as many letters as the name that Wine makes up, wine-XXXXXX.
	serverFolder = "wine-server"
)

// NameServerFolder writes a prefix's ServerFile, which belongs to uid as the prefix does. The prefix's /tmp must be its
// own, since the name is no secret.
//
// Without the file each of Debian's programs makes a folder up and writes its name there. Of two that start at once the
// one whose name is overwritten looks for the server in a folder that the server does not use, and ends: "wine: chdir
// to /tmp/wine-…/server-…: No such file or directory". The server makes the folder that the file names. Other Wines
// than Debian's do not read it.
func NameServerFolder(prefix *os.Root, uid int) error {
	err := prefix.Remove(ServerFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = prefix.WriteFile(ServerFile, []byte(serverFolder), 0o400) // Wine takes no other mode
	}
	if err == nil {
		err = prefix.Lchown(ServerFile, uid, uid)
	}
	if err != nil {
		return fmt.Errorf("name the folder of Wine's server: %w", err)
	}

	return nil
}
