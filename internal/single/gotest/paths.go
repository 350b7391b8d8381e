package gotest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// drive is the drive on which a program finds the machine's folders, at their own paths. So also a path that the
// compiler has kept (runtime.Caller) leads there: on Windows it begins at the root of the drive.
const drive = `C:`

// elsewhere is the folder of the machine's folders whose names Windows has for its own.
const elsewhere = drive + `\linux`

// windowsOwn returns the names of Windows' own folders on C:, in lower case.
func windowsOwn() []string {
	return []string{
		"windows", "users", "program files", "program files (x86)", "programdata", "documents and settings", "perflogs",
		"$recycle.bin", "system volume information",
	}
}

// PathError is a path that Windows cannot have.
type PathError struct {
	Path string
	Why  string
}

func (e *PathError) Error() string { return fmt.Sprintf("show %q on C: %s", e.Path, e.Why) }

// onWindows returns where an absolute path of the machine is in the container.
func onWindows(path string) (string, error) {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) {
		return "", &PathError{path, "it is not absolute"}
	}

	names := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, name := range names {
		if err := checkName(name); err != nil {
			return "", &PathError{path, err.Error()}
		}
	}

	root := drive
	if slices.Contains(windowsOwn(), strings.ToLower(names[0])) {
		root = elsewhere
	}
	return root + `\` + strings.Join(names, `\`), nil
}

// checkName refuses a name that Windows cannot have
// (https://learn.microsoft.com/windows/win32/fileio/naming-a-file#naming-conventions).
func checkName(name string) error {
	if i := strings.IndexAny(name, `<>:"|?*\`); i >= 0 {
		return fmt.Errorf("Windows has no name with %q, as %q has", name[i], name) //nolint:staticcheck // a name
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return fmt.Errorf("Windows has no name with control characters, as %q has", name) //nolint:staticcheck // a name
	}
	if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return fmt.Errorf("Windows has no name that ends with a dot or a space, as %q does", name) //nolint:staticcheck // a name
	}
	return nil
}

// moduleOf returns the folder that a package's tests may read: its workspace, its module, or for cargo the workspace or
// the package. Without one it is the package's folder alone.
func moduleOf(dir string, env func(string) string) string {
	if found := workspaceOf(dir, env("GOWORK")); found != "" {
		return found
	}
	for _, marks := range [][]string{{"go.mod"}, {"Cargo.lock"}, {"Cargo.toml"}} {
		if found := above(dir, marks[0]); found != "" {
			return found
		}
	}
	return dir
}

// workspaceOf returns the folder of the go.work that go heeds in a folder (https://go.dev/ref/mod#workspaces), ""
// without one. one is the value of GOWORK.
func workspaceOf(dir, one string) string {
	switch one {
	case "off":
		return ""
	case "":
		return above(dir, "go.work")
	}
	root := filepath.Dir(one)
	if rel, err := filepath.Rel(root, dir); err != nil || !filepath.IsLocal(rel) || root == "/" {
		return ""
	}
	return root
}

// above returns the nearest folder with a file of that name, from dir upward; "" is none. The machine's root is none:
// it has all else too.
func above(dir, name string) string {
	for ; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return dir
		}
	}
	return ""
}

// isBelow reports whether a path is a folder, or in it.
func isBelow(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// checkDir refuses folders that cannot be a package's.
func checkDir(dir string) error {
	switch {
	case !filepath.IsAbs(dir):
		return &PathError{dir, "it is not absolute"}
	case filepath.Clean(dir) == "/":
		return errors.New("run a test program in /: it would have the whole machine's files; go to the package's folder")
	}
	return nil
}
