package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
)

// mostOfGroups bounds the list of local groups, in bytes: a new server's has six thousand.
const mostOfGroups = 1 << 20

// localGroups returns the local groups that the Windows host has at this moment. Programs of the host write the list,
// and may put anything in its place, also while it is read: it is an ordinary file of the drive, or it is refused.
func (a *agent) localGroups() (localgroup.Groups, error) {
	file, err := wine.UnixPath(a.config.Drive, localgroup.Path)
	if err != nil {
		return nil, err
	}
	drive, err := filepath.EvalSymlinks(a.config.Drive)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(drive, file)
	if err != nil {
		return nil, err
	}

	text, err := beneath.ReadIn(drive, name, mostOfGroups)
	if errors.Is(err, fs.ErrNotExist) { // nothing was changed yet
		return localgroup.BuiltIn(), nil
	}
	var groups localgroup.Groups
	if err == nil {
		groups, err = localgroup.Parse(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("read local groups: %w", err)
	}
	return groups, nil
}
