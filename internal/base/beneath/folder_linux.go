package beneath

import "golang.org/x/sys/unix"

// folderOnly has an open fail, at once, if it is no folder.
const folderOnly = unix.O_DIRECTORY | unix.O_NONBLOCK
