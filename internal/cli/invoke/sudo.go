package invoke

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/remedy"
)

// RequireRoot returns the error for a user who is not root, in one line: why root is needed, as in "it enters the
// namespaces of a host", and the command to type instead.
func (c *Call) RequireRoot(why string) error {
	if c.Env.Euid == 0 {
		return nil
	}
	return c.needsRoot(why)
}

func (c *Call) needsRoot(why string) error {
	return &exit.Error{
		Code: exit.Requirement,
		Err:  fmt.Errorf("this needs root, as it %s: %s", why, c.WithSudo()),
	}
}

// StateError returns the error where the data folder cannot be read: there is no cluster, or it is root's.
func (c *Call) StateError(data string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return c.needsRoot("reads the cluster's state in " + data)
	}
	return remedy.NoCluster(data, err)
}

// WithSudo returns the command that was typed, with sudo. sudo keeps no environment, so a data folder that was named
// there is named as a flag.
func (c *Call) WithSudo() string {
	words := []string{"sudo", c.program()}
	named := slices.ContainsFunc(c.Env.Args, func(s string) bool {
		return s == "--data-dir" || strings.HasPrefix(s, "--data-dir=")
	})
	if data := c.Env.Getenv(DataVariable); data != "" && !named {
		words = append(words, "--data-dir", data)
	}

	words = append(words, c.Env.Args...)
	for i, word := range words {
		words[i] = quoted(plaintext.OneLine(word))
	}

	return strings.Join(words, " ")
}
