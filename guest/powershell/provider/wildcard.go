package provider

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// HasWildcard reports whether a path has wild cards.
func HasWildcard(path string) bool { return strings.ContainsAny(path, "*?[") }

// drive matches the beginning of a path that is neither a file's nor the environment's.
var drive = lazyregexp.New(`^([A-Za-z.\\]*::|[A-Za-z][A-Za-z0-9_]+:)`)

// windowsDrives are the drives with which a session begins, beside those of disks.
const windowsDrives = " alias: cert: env: function: hkcu: hklm: variable: wsman: "

// BadPath returns an error for a path with something that is not implemented: a drive of Windows that is no disk, or
// the name of a provider other than that of files. Drives of other names may be ones that the script makes.
func BadPath(path string) error {
	name := strings.ToLower(drive.FindString(path))
	switch {
	case name == "" || name == "env:", strings.HasSuffix(name, "filesystem::"):
		return nil
	case strings.HasSuffix(name, "::"), strings.Contains(windowsDrives, " "+name+" "):
		return errors.New("a path that begins with " + path[:len(name)] + " is not part of Mullion's PowerShell")
	}
	return nil
}

// NoDrive returns the error of a path of a drive that is not there. The path has no drive of the script any more.
func NoDrive(path string) error {
	name := drive.FindString(path)
	if name == "" || strings.HasSuffix(name, "::") || strings.Contains(windowsDrives, " "+strings.ToLower(name)+" ") {
		return nil
	}
	return MissingDrive(strings.TrimSuffix(name, ":"))
}

// DriveException is the class of errors of a drive that is not there.
const DriveException = "System.Management.Automation.DriveNotFoundException"

// MissingDrive returns the error of a drive that is not there.
func MissingDrive(name string) error {
	return &object.Exception{
		Class: DriveException, Category: object.ObjectNotFound, Target: name,
		ID: "DriveNotFound", Message: "Cannot find drive. A drive with the name '" + name + "' does not exist.",
	}
}

// Expand returns the paths that match a path with wild cards in any of its parts.
func Expand(path string) ([]string, error) {
	volume := filepath.VolumeName(path)
	separator := string(filepath.Separator)
	found := []string{volume + separator}
	for part := range strings.SplitSeq(strings.Trim(path[len(volume):], separator), separator) {
		var deeper []string
		for _, dir := range found {
			names, err := matching(dir, part)
			if err != nil {
				return nil, err
			}
			deeper = append(deeper, names...)
		}

		found = deeper
	}

	return found, nil
}

// matching returns the names in a folder that match one part of a path.
func matching(dir, part string) ([]string, error) {
	if !HasWildcard(part) {
		path := filepath.Join(dir, part)
		if _, err := os.Lstat(path); err != nil {
			return nil, nil //nolint:nilerr // what cannot be seen does not match
		}
		return []string{path}, nil
	}

	re, err := pattern.Wildcard(part)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil //nolint:nilerr // so it is with what is in it
	}

	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Compare(strings.ToLower(a.Name()), strings.ToLower(b.Name()))
	})
	var found []string
	for _, e := range entries {
		if re.MatchString(e.Name()) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}

	return found, nil
}
