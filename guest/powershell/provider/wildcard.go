package provider

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// HasWildcard reports whether a path has wild cards.
func HasWildcard(path string) bool { return strings.ContainsAny(path, "*?[") }

// drive matches the beginning of a path that is neither a file's nor the environment's.
var drive = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_]+:|[A-Za-z.\\]*::|~($|[/\\]))`)

// BadPath returns an error for a path with something that is not implemented: a drive that is no disk, a provider's
// name, ~ for the user's folder.
func BadPath(path string) error {
	if _, environment := EnvironmentItem(path); environment {
		return nil
	}
	if name := drive.FindString(path); name != "" {
		return errors.New("a path that begins with " + name + " is not part of Mullion's PowerShell")
	}
	return nil
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
