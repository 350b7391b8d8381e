package invoke

import (
	"os"
	"path/filepath"
	"strings"
)

// Command returns this program as a person types it: by its name if the shell finds it so, else by the path that was
// typed; with the folder of the cluster, if that is not the usual one.
func (c *Call) Command() string {
	program := quoted(c.program())
	if c.DataDir != DefaultDataDir {
		program += " --data-dir " + quoted(c.DataDir)
	}
	return program
}

// program returns this program as a person types it.
func (c *Call) program() string {
	switch {
	case c.onPath():
		return "mullion"
	case strings.Contains(c.Env.Program, "/"):
		return c.Env.Program
	case c.Env.Executable == "": // as in tests
		return "mullion"
	}
	return c.Env.Executable
}

// RootCommand is Command for what needs root, for somebody who used sudo.
func (c *Call) RootCommand() string {
	if uid := c.Env.Getenv("SUDO_UID"); uid != "" && uid != "0" {
		return "sudo " + c.Command()
	}
	return c.Command()
}

// onPath reports whether the command mullion is this program, perhaps by a link.
func (c *Call) onPath() bool {
	self, err := os.Stat(c.Env.Executable)
	if err != nil {
		return false
	}
	for _, dir := range filepath.SplitList(c.Env.Getenv("PATH")) {
		found, err := os.Stat(filepath.Join(dir, "mullion"))
		if err == nil && found.Mode()&0o111 != 0 && !found.IsDir() {
			return os.SameFile(found, self) // the first one is run
		}
	}
	return false
}

// quoted returns a word for a shell: in single quotes if a character of it means something there, else unchanged.
func quoted(word string) string {
	plain := func(r rune) bool {
		return (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') ||
			strings.ContainsRune("/._-+@%,:=", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
