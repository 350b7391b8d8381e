package cli

import (
	"io"
	"slices"
	"strings"
)

// Env is the process's surroundings. Only main fills it from the real ones.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Args     []string // without the program's name
	Environ  []string // KEY=value
	// Executable is the absolute path of this program; the other programs lie beside it.
	Executable string
	// Euid is the effective user id; 0 is root.
	Euid int
	// Terminal says that Out is a terminal that can be drawn on.
	Terminal bool
}

// Getenv is the value of an environment variable, "" where it is not set.
func (e Env) Getenv(key string) string {
	for _, line := range slices.Backward(e.Environ) {
		if k, v, ok := strings.Cut(line, "="); ok && k == key {
			return v
		}
	}
	return ""
}
