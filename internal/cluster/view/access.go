package view

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// peer is who is at the other end of a connection, in the kernel's words.
type peer struct {
	uid    uint32
	gid    uint32
	groups []uint32
}

// access says who may read.
type access struct {
	// file names the users that brought the cluster up by sudo.
	file string
	// group returns the number of the group whose members may read; false: there is none.
	group func() (uint32, bool)
}

// may reports whether a peer may read: root, who brought the cluster up by sudo, and the members of the group.
func (a access) may(p peer) bool {
	if p.uid == 0 || slices.Contains(noted(a.file), p.uid) {
		return true
	}
	gid, there := a.group()
	return there && (p.gid == gid || slices.Contains(p.groups, gid))
}

// lookupGroup returns the number of the group Group in the machine's group database.
func lookupGroup() (uint32, bool) {
	g, err := user.LookupGroup(Group)
	if err != nil {
		return 0, false
	}
	gid, err := strconv.ParseUint(g.Gid, 10, 32)
	return uint32(gid), err == nil && gid != 0
}

// viewersVersion is the version of the file's layout.
const viewersVersion = 1

// mostNoted is how many users the file has: the last ones.
const mostNoted = 64

// unmapped is the user that the kernel shows for one of another user namespace that has no number here
// (/proc/sys/kernel/overflowuid). It can be anybody, and so is nobody.
const unmapped = 65534

// viewers is what the file holds.
type viewers struct {
	Version int      `json:"version"`
	UIDs    []uint32 `json:"uids"`
}

// noted returns the users in the file. A file that is missing or of another layout names nobody.
func noted(file string) []uint32 {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var v viewers
	if err := json.Unmarshal(text, &v); err != nil || v.Version != viewersVersion {
		return nil
	}
	return v.UIDs
}

// Note keeps in the file who called sudo, by the environment of a process that is root (NAME=value): that user may read
// the cluster from now on. Without sudo nothing changes.
func Note(file string, environ []string) error {
	uid := uint64(0)
	for _, line := range slices.Backward(environ) {
		text, ok := strings.CutPrefix(line, "SUDO_UID=")
		if !ok {
			continue
		}
		var err error
		if uid, err = strconv.ParseUint(text, 10, 32); err != nil {
			return nil // sudo wrote no such thing, so nobody used it
		}
		break
	}

	all := noted(file)
	if uid == 0 || uid == unmapped || slices.Contains(all, uint32(uid)) {
		return nil
	}
	all = append(all, uint32(uid))
	all = all[max(0, len(all)-mostNoted):]
	if err := atomicfile.WriteJSON(file, viewers{Version: viewersVersion, UIDs: all}); err != nil {
		return fmt.Errorf("note who may read the cluster: %w", err)
	}

	return nil
}
