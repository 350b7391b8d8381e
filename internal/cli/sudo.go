package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/plaintext"
)

// requireRoot returns the error for a user who is not root, in one line: why root is needed, as in "it enters the
// namespaces of a host", and the command to type instead.
func (a *app) requireRoot(why string) error {
	if a.env.Euid == 0 {
		return nil
	}
	return a.needsRoot(why)
}

func (a *app) needsRoot(why string) error {
	return &Error{
		Code: ExitRequirement,
		Err:  fmt.Errorf("this needs root, as it %s: %s", why, a.withSudo()),
	}
}

// stateError returns the error where the data folder cannot be read: there is no cluster, or it is root's.
func (a *app) stateError(data string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return a.needsRoot("reads the cluster's state in " + data)
	}
	return noCluster(data, err)
}

// withSudo returns the command that was typed, with sudo. sudo keeps no environment, so a data folder that was named
// there is named as a flag.
func (a *app) withSudo() string {
	words := []string{"sudo", a.program()}
	named := slices.ContainsFunc(a.env.Args, func(s string) bool {
		return s == "--data-dir" || strings.HasPrefix(s, "--data-dir=")
	})
	if data := a.env.Getenv("MULLION_DATA_DIR"); data != "" && !named {
		words = append(words, "--data-dir", data)
	}

	words = append(words, a.env.Args...)
	for i, word := range words {
		words[i] = quoted(plaintext.OneLine(word))
	}

	return strings.Join(words, " ")
}
