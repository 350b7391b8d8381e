// Package kubeconfig owns the cluster's entries in the kubeconfig of the person who uses it: it adds a context, makes
// it the current one, and removes it again. Everything else in the file stays. It does not make credentials (package
// pki does).
//
// Which file: the rules are kubectl's, as kind applies them. KUBECONFIG is a list, of which the first existing file is
// written, or the last one if none exists. Without it, the file is ~/.kube/config of the user, or of the person who
// called sudo. Entries made here carry the extension "mullion", so that entries of others with the same name are never
// overwritten or removed.
package kubeconfig

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// Target says which files hold the person's configuration, and who owns them.
type Target struct {
	// Paths in the order of KUBECONFIG, or the one default.
	Paths []string
	// Owner becomes the owner of new files and folders; nil is the process's user.
	Owner *Owner
}

// Owner is a Unix user and its group.
type Owner struct {
	UID, GID int
}

// Locate finds the target from the process's environment (NAME=value).
func Locate(environ []string) (Target, error) {
	env := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}

	home, owner, err := person(env)
	if err != nil {
		return Target{}, err
	}

	target := Target{Owner: owner}
	for _, path := range filepath.SplitList(env["KUBECONFIG"]) {
		if path != "" {
			target.Paths = append(target.Paths, path)
		}
	}

	if len(target.Paths) == 0 {
		if home == "" {
			return Target{}, errors.New("find kubeconfig: neither KUBECONFIG nor HOME is set")
		}
		target.Paths = []string{filepath.Join(home, ".kube", "config")}
	}

	return target, nil
}

// person returns the home folder of the person at the keyboard, and, if sudo was used, that person as the owner.
func person(env map[string]string) (string, *Owner, error) {
	name := env["SUDO_USER"]
	if name == "" || name == "root" {
		return env["HOME"], nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return "", nil, fmt.Errorf("find kubeconfig of %q, who called sudo: %w", name, err)
	}

	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return "", nil, fmt.Errorf("find kubeconfig of %q, who called sudo: %w", name, err)
	}

	return u.HomeDir, &Owner{UID: uid, GID: gid}, nil
}

// forWriting returns the file for new entries.
func (t Target) forWriting() string {
	for _, path := range t.Paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return t.Paths[len(t.Paths)-1]
}
